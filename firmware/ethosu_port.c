// SPDX-License-Identifier: MIT
/**
 * What the NPU driver asks of any Cortex-M board that runs this firmware: time,
 * the sleep that misses no interrupt, and the data cache.
 */
#include "clock.h"
#include "cpu.h"
#include "driver/ethosu_driver.h"
#include "ethosu_board.h"
#include "irq.h"

/** Above this, walking a range line by line is dearer than the whole cache. */
#define WHOLE_CACHE_SIZE 0x10000u

uint32_t ethosu_board_ticks_ms(void)
{
    return (uint32_t)clock_ms();
}

void ethosu_board_idle(const volatile uint32_t *flag)
{
    irq_wait_unless(flag);
}

/** Nothing is in a cache that is off, as under QEMU; walking it line by line would be for nothing.
 */
static bool cache_is_on(void)
{
    return (SCB->CCR & SCB_CCR_DC_Msk) != 0;
}

static size_t total(const size_t *sizes, int count)
{
    size_t sum = 0;
    for (int i = 0; i < count; i++) {
        sum = sizes[i] < WHOLE_CACHE_SIZE - sum ? sum + sizes[i] : WHOLE_CACHE_SIZE;
    }
    return sum;
}

void ethosu_flush_dcache(const uint64_t *base_addr, const size_t *base_addr_size, int num_base_addr)
{
    if (!cache_is_on()) {
        return;
    }
    if (total(base_addr_size, num_base_addr) >= WHOLE_CACHE_SIZE) {
        SCB_CleanDCache();
        return;
    }
    for (int i = 0; i < num_base_addr; i++) {
        SCB_CleanDCache_by_Addr((void *)(uintptr_t)base_addr[i], (int32_t)base_addr_size[i]);
    }
}

void ethosu_invalidate_dcache(const uint64_t *base_addr, const size_t *base_addr_size,
                              int num_base_addr)
{
    if (!cache_is_on()) {
        return;
    }
    // What the CPU has there was flushed before the run, so cleaning writes back only what a
    // neighbour put into the first or the last line.
    if (total(base_addr_size, num_base_addr) >= WHOLE_CACHE_SIZE) {
        SCB_CleanInvalidateDCache();
        return;
    }
    for (int i = 0; i < num_base_addr; i++) {
        SCB_CleanInvalidateDCache_by_Addr((void *)(uintptr_t)base_addr[i],
                                          (int32_t)base_addr_size[i]);
    }
}
