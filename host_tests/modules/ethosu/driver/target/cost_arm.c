// SPDX-License-Identifier: MIT
/**
 * Counts the instructions of Arm's driver, with the same client, payload, CPU and registers as
 * cost.c. The headers are Arm's.
 */
#include "ethosu_driver.h"

#include "counted_driver.h"

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
    failures += initialise() != 0;
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
