// SPDX-License-Identifier: MIT
/**
 * Counts the instructions of Arm's driver, with the same client, payload, CPU and registers as
 * cost.c. The headers are Arm's.
 */
#include "counting.h"
#include "ethosu_driver.h"
#include "ethosu_registers.h"

#include "cost_model.h"

static uint32_t registers[0x2000 / 4];
static struct ethosu_driver drv;
static _Alignas(16) const uint32_t payload[] = {COST_PAYLOAD};
static const size_t sizes[] = {COST_SIZES};
static uint64_t bases[sizeof sizes / sizeof sizes[0]];

#define BASE_COUNT ((int)(sizeof sizes / sizeof sizes[0]))
#define FINISHED (1u << 1 | 1u << 5) /**< of STATUS: interrupt, end reached */

static void finish_npu(void)
{
    registers[NPU_STATUS / 4] = FINISHED;
    ethosu_irq_handler(&drv);
    registers[NPU_STATUS / 4] = 0;
}

static void interrupt_only(void)
{
    registers[NPU_STATUS / 4] = FINISHED;
    registers[NPU_STATUS / 4] = 0;
}

/* The hooks of Arm's driver for a system without threads, except the sleep, in which the NPU
 * completes. */

void *ethosu_semaphore_create(void)
{
    static uint8_t counts[2];
    static unsigned made;
    return &counts[made++];
}

int ethosu_semaphore_take(void *semaphore, uint64_t timeout)
{
    uint8_t *count = semaphore;
    (void)timeout;
    while (*count == 0) {
        finish_npu();
    }
    (*count)--;
    return 0;
}

int ethosu_semaphore_give(void *semaphore)
{
    uint8_t *count = semaphore;
    (*count)++;
    __asm__ volatile("sev");
    return 0;
}

static int failures;

static void reserve_invoke_release(void)
{
    struct ethosu_driver *one = ethosu_reserve_driver();
    failures += ethosu_invoke_v3(one, payload, sizeof payload, bases, sizes, BASE_COUNT, NULL) != 0;
    ethosu_release_driver(one);
}

__attribute__((noinline)) static void measure(void)
{
    registers[NPU_CONFIG / 4] = payload[2]; // the NPU that it was compiled for
    registers[NPU_ID / 4] = payload[3];
    registers[NPU_PROT / 4] = NPU_PROT_PRIVILEGED;
    for (int i = 0; i < BASE_COUNT; i++) {
        bases[i] = 0x20040000u;
    }
    failures += ethosu_init(&drv, registers, NULL, 0, 1, 1) != 0;
    uint32_t own = instructions(interrupt_only, REPEATS);
    print("client", instructions(reserve_invoke_release, REPEATS) - own);
}

void reset(void)
{
    start_counter();
    measure();
    print("failed", (uint32_t)failures);
    leave((uint32_t)failures);
}
