// SPDX-License-Identifier: MIT
/**
 * Functions that the NPU driver needs on any Cortex-M board with this firmware: the
 * NPUs of its table, time, a sleep that can't miss an interrupt, and the data cache.
 */
#include "clock.h"
#include "cpu.h"
#include "ethosu_driver.h"
#include "ethosu_board.h"
#include "fault.h"
#include "irq.h"

/** Above this size a whole-cache operation is cheaper than a loop over the lines. */
#define WHOLE_CACHE_SIZE 0x10000u

/** Bytes of a line of the Cortex-M55's caches. */
#define LINE 32u

/**
 * An FPGA without the NPU, and QEMU without the plugin, have nothing there, or
 * registers that read as 0. An NPU's first register, ID, never does.
 */
bool ethosu_ext_board_npu_present(size_t index)
{
    if (index >= ethosu_board.npu_count) {
        return false;
    }
    const struct ethosu_npu *npu = &ethosu_board.npus[index];
    if (npu->power != NULL && !npu->power(npu, true)) {
        return true; // present; the driver reports why it does not start
    }
    uint32_t id = 0;
    bool responds = fault_guarded_read((const volatile uint32_t *)npu->base, &id);
    if (npu->power != NULL) {
        (void)npu->power(npu, false);
    }
    return responds && id != 0;
}

void ethosu_ext_board_irq_connect(size_t index, void (*handler)(void *argument), void *argument)
{
    irq_connect(ethosu_board.npus[index].irq, handler, argument);
}

void ethosu_ext_board_irq_disconnect(size_t index)
{
    irq_disconnect(ethosu_board.npus[index].irq);
}

uint32_t ethosu_ext_board_ticks_ms(void)
{
    return (uint32_t)clock_ms();
}

void ethosu_ext_board_idle(const volatile uint32_t *flag, uint64_t at_most_ms)
{
    irq_wait_unless(flag, at_most_ms < UINT32_MAX ? (uint32_t)at_most_ms : UINT32_MAX);
}

void ethosu_ext_board_alarm(uint32_t ms)
{
    uint32_t state = irq_mask();
    clock_alarm_ms(ms);
    irq_restore(state);
}

/** A cache that is off, as under QEMU, is empty, so walking it line by line can be skipped. */
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

/** A line that holds other data too is written back before it is dropped. */
static void clean_edge(uint64_t address)
{
    if (address % LINE != 0) {
        SCB_CleanDCache_by_Addr((void *)(uintptr_t)(address / LINE * LINE), (int32_t)LINE);
    }
}

void ethosu_invalidate_dcache(const uint64_t *base_addr, const size_t *base_addr_size,
                              int num_base_addr)
{
    if (!cache_is_on()) {
        return;
    }
    if (total(base_addr_size, num_base_addr) >= WHOLE_CACHE_SIZE) {
        SCB_CleanInvalidateDCache();
        return;
    }
    for (int i = 0; i < num_base_addr; i++) {
        clean_edge(base_addr[i]);
        clean_edge(base_addr[i] + base_addr_size[i]);
        SCB_InvalidateDCache_by_Addr((void *)(uintptr_t)base_addr[i], (int32_t)base_addr_size[i]);
    }
}
