// SPDX-License-Identifier: MIT
/**
 * What the driver costs on a Cortex-M55, in instructions: runs on stock QEMU
 * with -icount, where SysTick counts executed instructions. The NPU's registers
 * are plain memory that says what a finished NPU would say.
 */
#include "ethosu_board.h"
#include "ethosu_ext.h"
#include "ethosu_registers.h"

#include "semihost.h"

#include "cost_model.h" // made by test_cost.py: a payload of Vela's, and its regions' sizes

#define REPEATS 1000u

static uint32_t registers[0x1000 / 4];
static struct ethosu_driver drv;
static struct ethosu_ext_program program;
static _Alignas(16) uint8_t arena[16];
static _Alignas(16) const uint32_t payload[] = {COST_PAYLOAD};
static const size_t sizes[] = {COST_SIZES};
static uint64_t bases[sizeof sizes / sizeof sizes[0]];

#define BASE_COUNT ((int)(sizeof sizes / sizeof sizes[0]))

const struct ethosu_board ethosu_board = {.name = "cost"};

uint32_t ethosu_board_ticks_ms(void)
{
    return 0;
}

void ethosu_board_idle(const volatile uint32_t *flag)
{
    (void)flag;
}

/* ---- counting ---- */

static uint32_t ticks_of(void (*work)(void), uint32_t repeats)
{
    uint32_t before = SYST_CVR;
    for (uint32_t i = 0; i < repeats; i++) {
        work();
    }
    return (before - SYST_CVR) & 0xFFFFFFu;
}

static void nothing(void)
{
    __asm__ volatile("");
}

static void thousand(void)
{
    __asm__ volatile("movw r0, #499\n1: subs r0, #1\nbne 1b" ::: "r0", "cc");
}

/** Instructions per call, from ticks and from the thousand instructions that calibrate them. */
static uint32_t instructions(void (*work)(void), uint32_t repeats)
{
    uint32_t empty = ticks_of(nothing, REPEATS);
    uint32_t known = ticks_of(thousand, REPEATS) - empty;
    uint64_t ticks = ticks_of(work, repeats) - (uint64_t)empty * repeats / REPEATS;
    return (uint32_t)((ticks * 999 * REPEATS + known * (uint64_t)repeats / 2) /
                      (known * (uint64_t)repeats));
}

/* ---- what is measured ---- */

static void finish_npu(void)
{
    registers[NPU_STATUS / 4] = ETHOSU_EXT_STATUS_IRQ_RAISED | ETHOSU_EXT_STATUS_END_REACHED;
    ethosu_irq_handler(&drv);
    registers[NPU_STATUS / 4] = 0;
}

static void interrupt_only(void)
{
    registers[NPU_STATUS / 4] = ETHOSU_EXT_STATUS_IRQ_RAISED | ETHOSU_EXT_STATUS_END_REACHED;
    registers[NPU_STATUS / 4] = 0;
}

static void infer(void)
{
    ethosu_ext_start(&drv, &program, NULL);
    finish_npu();
    ethosu_ext_wait(&drv, 100);
}

static void infer_with_power_kept(void)
{
    infer();
}

static void prepare(void)
{
    ethosu_ext_prepare(&drv, &program, payload, sizeof payload, bases, sizes, BASE_COUNT,
                       ETHOSU_EXT_NO_VERIFY);
}

static void prepare_and_verify(void)
{
    ethosu_ext_prepare(&drv, &program, payload, sizeof payload, bases, sizes, BASE_COUNT, 0);
}

__attribute__((noinline)) static int measure(void)
{
    registers[NPU_CONFIG / 4] = 0x1807;
    registers[NPU_ID / 4] = 0x10066001u;
    registers[NPU_PROT / 4] = NPU_PROT_PRIVILEGED;
    for (int i = 0; i < BASE_COUNT; i++) {
        bases[i] = (uintptr_t)arena;
    }
    if (ethosu_init(&drv, registers, NULL, 0, 1, 1) != 0 || ethosu_reserve_driver() != &drv) {
        return 1;
    }
    prepare_and_verify();
    if (program.owner != &drv) {
        return 2;
    }
    print("prepare", instructions(prepare, REPEATS));
    uint32_t verify = instructions(prepare_and_verify, 10) - instructions(prepare, 10);
    print("verify_per_word_x10", verify * 10 / (program.stream_bytes / 4));
    uint32_t own = instructions(interrupt_only, REPEATS);
    print("inference", instructions(infer, REPEATS) - own);
    if (drv.spurious != 0 || ethosu_ext_last_error(&drv)->code != 0) {
        return 3;
    }
    ethosu_request_power(&drv);
    print("inference_power_kept", instructions(infer_with_power_kept, REPEATS) - own);
    return 0;
}

void reset(void)
{
    start_counter();
    int failed = measure();
    print("failed", (uint32_t)failed);
    leave((uint32_t)failed);
}
