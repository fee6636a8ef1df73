// SPDX-License-Identifier: MIT
/**
 * Counts the driver's instructions on a Cortex-M55. Runs on stock QEMU with -icount, where SysTick
 * counts executed instructions.
 */
#include "ethosu_board.h"
#include "ethosu_ext.h"
#include "ethosu_memory.h"

#include "counted_driver.h"

#include <string.h>

static struct ethosu_ext_program program;
static _Alignas(16) uint32_t copy[sizeof payload / 4];
static const uint32_t *given = payload; /**< what the client gives */

/** Symbols of cost.ld. */
static const struct ethosu_memory memories[] = {
    {.name = "ITCM",
     .end = (void *)0x80000u,
     .masters = ETHOSU_MASTERS_READ,
     .cpu = ETHOSU_CPU_CODE},
    {.name = "DTCM",
     .start = (void *)0x20000000u,
     .end = (void *)0x20080000u,
     .masters = ETHOSU_MASTERS_ALL,
     .cache = ETHOSU_CACHE_NONE},
};

const struct ethosu_board ethosu_board = {.name = "cost", .memories = memories, .memory_count = 2};

uint32_t ethosu_ext_board_ticks_ms(void)
{
    return 0;
}

static bool ends_in_sleep;

void ethosu_ext_board_idle(const volatile uint32_t *flag, uint64_t at_most_ms)
{
    (void)at_most_ms;
    (void)flag;
    if (ends_in_sleep) {
        finish_npu();
    }
}

/* ---- what is measured ---- */

static void infer(void)
{
    ethosu_ext_start(&drv, &program, NULL);
    finish_npu();
    ethosu_ext_wait(&drv, 100);
}

/** A client of Arm's driver: TensorFlow Lite Micro's kernel does this for each inference. */
static void reserve_invoke_release(void)
{
    struct ethosu_driver *one = ethosu_reserve_driver();
    ethosu_invoke_v3(one, given, sizeof payload, bases, sizes, BASE_COUNT, NULL);
    ethosu_release_driver(one);
}

__attribute__((noinline)) static struct ethosu_driver *empty_reserve(void)
{
    __asm__ volatile("");
    return &drv;
}

__attribute__((noinline)) static void empty_invoke(struct ethosu_driver *one, const void *data,
                                                   int size, uint64_t *base,
                                                   const size_t *base_size, int count,
                                                   void *argument)
{
    __asm__ volatile("" ::"r"(one), "r"(data), "r"(size), "r"(base), "r"(base_size), "r"(count),
                     "r"(argument));
}

__attribute__((noinline)) static void empty_release(struct ethosu_driver *one)
{
    __asm__ volatile("" ::"r"(one));
}

/** Cost of an inference of a client whose payload was verified before. */
static uint32_t client_cost(void)
{
    reserve_invoke_release();
    return instructions(reserve_invoke_release, REPEATS);
}

/** The part of reserve_invoke_release() outside the driver: client, board's clock and sleep. */
static void around_the_driver(void)
{
    struct ethosu_driver *one = empty_reserve();
    empty_invoke(one, payload, sizeof payload, bases, sizes, BASE_COUNT, NULL);
    empty_release(one);
    ends_in_sleep = false;
    (void)ethosu_ext_board_ticks_ms();
    ethosu_ext_board_idle(NULL, UINT64_MAX);
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

/** Change single words: is the client's payload recognised as another one each time? */
static void change_words(void)
{
    uint32_t refused = 0;
    uint32_t unseen = 0;
    uint32_t asked = 0;
    ends_in_sleep = true;
    for (uint32_t i = 0; i < sizeof payload / 4; i += 19) {
        for (uint32_t times = 0; times < 2; times++) { // right first, then wrong
            int right =
                ethosu_ext_prepare(&drv, &program, copy, sizeof copy, bases, sizes, BASE_COUNT, 0);
            int found = ethosu_invoke_v3(&drv, copy, sizeof copy, bases, sizes, BASE_COUNT, NULL);
            asked++;
            refused += right != 0;
            unseen += (right != 0) != (found != 0);
            copy[i] ^= 0x80000001u;
        }
    }
    ends_in_sleep = false;
    print("changes", asked / 2);
    print("changes_refused", refused);
    print("changes_unseen", unseen);
}

__attribute__((noinline)) static int measure(void)
{
    if (initialise() != 0 || ethosu_reserve_driver() != &drv) {
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
    ethosu_release_driver(&drv);
    own += instructions(around_the_driver, REPEATS);
    ends_in_sleep = true;
    print("client", client_cost() - own);
    ethosu_ext_memory_use(&ethosu_board);
    ethosu_ext_forget(&drv);
    print("client_constant", client_cost() - own);
    ethosu_ext_set_verify(&drv, false);
    print("client_unverified", client_cost() - own);
    ethosu_ext_set_verify(&drv, true);
    given = memcpy(copy, payload, sizeof payload);
    print("client_elsewhere", client_cost() - own);
    ethosu_ext_set_constant_payloads(&drv, true);
    print("client_promised", client_cost() - own);
    ethosu_ext_set_constant_payloads(&drv, false);
    given = payload;
    drv.fast_memory = bases[0]; // as ethosu_init() would have set it
    drv.fast_memory_size = 0x20000;
    ethosu_ext_forget(&drv);
    print("client_fast_memory", client_cost() - own);
    drv.fast_memory = 0;
    ethosu_ext_forget(&drv);
    given = copy;
    ethosu_ext_memory_use(NULL);
    print("words", program.stream_bytes / 4);
    if (ethosu_ext_last_error(&drv)->code != 0 || ethosu_reserve_driver() != &drv) {
        return 4;
    }
    own -= instructions(around_the_driver, REPEATS);
    change_words();
    prepare();
    ethosu_request_power(&drv);
    print("inference_power_kept", instructions(infer, REPEATS) - own);
    return 0;
}

void reset(void)
{
    start_counter();
    int failed = measure();
    print("failed", (uint32_t)failed);
    leave((uint32_t)failed);
}
