// SPDX-License-Identifier: MIT
/**
 * arm_ethos_io_memcpy() with a DMA controller; the CPU sleeps while tensors are
 * copied. This is the part common to all controllers, see dma_controller.h.
 *
 * The controller writes whole cache lines of the destination, and the CPU the few
 * bytes before and after them. Invalidated lines thus contain no other data, and the
 * destination is always aligned; the source's alignment determines the access size.
 *
 * The CPU copies by itself if the controller can't or is slower: small copies, memory
 * that only the CPU can access, in an interrupt handler or with interrupts masked,
 * without a controller (FVP, stock QEMU), and the remainder of a failed transfer.
 */
#include "dma_copy.h"

#include "cpu.h"
#include "dma_controller.h"
#include "arm_ethos_io_memcpy.h"
#include "ethosu_copy.h"
#include "ethosu_memory.h"
#include "irq.h"

/** After this many consecutive transfers that did not end, the CPU makes all copies. */
#define MAX_TIMEOUTS 3u

/** Allows transfers at a thousandth of the bus's speed. */
#define TIMEOUT_MS(size) (100u + (size) / 64u)

static enum { UNKNOWN, ABSENT, PRESENT } presence;
static bool disabled;
static unsigned consecutive_timeouts;
static struct dma_counters counters;

/** Board table entries for source and destination of the current transfer. */
static struct {
    const struct ethosu_memory *source;
    const struct ethosu_memory *destination;
} memories;

/** The current transfer, continued piece by piece from interrupts. */
static struct {
    struct dma_transfer rest;
    bool failed;
    volatile uint32_t done;
} current = {.done = 1};

static bool has_controller(void)
{
    if (presence == UNKNOWN) {
        presence = dma_controller_prepare() ? PRESENT : ABSENT;
    }
    return presence == PRESENT;
}

/* --- May it copy this? ---------------------------------------------------- */

static bool can_wait(void)
{
    return __get_IPSR() == 0 && (__get_PRIMASK() | __get_BASEPRI() | __get_FAULTMASK()) == 0;
}

const struct ethosu_memory *dma_copy_memory(const void *start, size_t size, unsigned masters)
{
    const struct ethosu_memory *memory = ethosu_ext_memory_find((uintptr_t)start, size);
    return memory != NULL && (memory->masters & masters) == masters ? memory : NULL;
}

static bool find_memories(const void *to, const void *from, size_t size)
{
    memories.source = dma_copy_memory(from, size, ETHOSU_DMA_READS);
    memories.destination = dma_copy_memory(to, size, ETHOSU_DMA_WRITES);
    return memories.source != NULL && memories.destination != NULL;
}

static bool can_use_dma(const void *to, const void *from, size_t size)
{
    bool cached = (SCB->CCR & SCB_CCR_DC_Msk) != 0;
    return size >= (cached ? dma_board.least_cached : dma_board.least) && !disabled && can_wait() &&
           current.done && has_controller() && find_memories(to, from, size);
}

/* --- Caches --------------------------------------------------------------- */

/** Clean the source and invalidate all lines of the destination. */
static void before_transfer(uint8_t *to, const uint8_t *from, size_t size)
{
    ethosu_ext_memory_clean_in(memories.source, from, size);
    ethosu_ext_memory_discard_in(memories.destination, to, size);
}

/** Invalidate lines of the destination that the CPU prefetched during the transfer. */
static void after_transfer(uint8_t *to, size_t size)
{
    ethosu_ext_memory_discard_in(memories.destination, to, size);
    ethosu_ext_memory_barrier();
}

/* --- A transfer ----------------------------------------------------------- */

static void end_transfer(bool failed)
{
    current.failed = failed;
    current.done = 1; // last: it wakes the copy
}

static void start_rest(void)
{
    if (!dma_controller_start(&current.rest)) {
        end_transfer(true);
    }
}

void dma_copy_ended(bool failed)
{
    if (current.done) {
        return; // halted meanwhile
    }
    if (!failed && current.rest.size > 0) {
        start_rest();
        return;
    }
    end_transfer(failed);
}

/** Abort a transfer that does not end. */
static void abort_transfer(void)
{
    uint32_t state = irq_mask();
    dma_controller_halt();
    end_transfer(true);
    irq_restore(state);
}

static void wait_for_end(uint32_t timeout_ms)
{
    uint32_t begin = ethosu_ext_board_ticks_ms(), passed = 0;
    while (!current.done && passed < timeout_ms) {
        irq_wait_unless(&current.done, timeout_ms - passed);
        passed = ethosu_ext_board_ticks_ms() - begin;
    }
}

/** Copy whole cache lines; on false the destination is undefined. */
static bool transfer(uint8_t *to, const uint8_t *from, size_t size)
{
    before_transfer(to, from, size);
    current.rest = (struct dma_transfer){dma_copy_bus_address(memories.destination, to),
                                         dma_copy_bus_address(memories.source, from), size};
    current.done = 0;
    start_rest();
    irq_wait_unless(&current.done, TIMEOUT_MS(size));
    // Seldom, so the clock is read only here: a time-out may take twice as long.
    if (!current.done) {
        wait_for_end(TIMEOUT_MS(size));
    }
    if (!current.done) {
        abort_transfer();
        counters.timeouts++;
        disabled = ++consecutive_timeouts == MAX_TIMEOUTS; // stuck; dma_enable() tries again
    } else if (current.failed) {
        counters.errors++;
    }
    after_transfer(to, size);
    return !current.failed;
}

/** Copy what is around a transfer. */
static __attribute__((noinline)) void copy_around(uint8_t *to, const uint8_t *from, size_t size)
{
    ethosu_ext_copy(to, from, size);
}

/** @return  false: the controller can't copy this, or is slower */
static __attribute__((noinline)) bool copy_by_dma(uint8_t *to, const uint8_t *from, size_t size)
{
    if (!can_use_dma(to, from, size)) {
        return false;
    }
    size_t head = -(uintptr_t)to % DMA_LINE;
    size_t middle = (size - head) / DMA_LINE * DMA_LINE;
    copy_around(to, from, head);
    if (transfer(to + head, from + head, middle)) {
        consecutive_timeouts = 0;
        counters.transfers++;
        counters.transfer_bytes += size;
        head += middle;
    }
    copy_around(to + head, from + head, size - head);
    return true;
}

void arm_ethos_io_memcpy(void *to, const void *from, size_t size)
{
    if (size >= dma_board.least && copy_by_dma(to, from, size)) {
        return;
    }
    ethosu_ext_copy(to, from, size);
    counters.cpu_copies++;
    counters.cpu_bytes += size;
}

/* --- For others ----------------------------------------------------------- */

struct dma_counters dma_counters(void)
{
    return counters;
}

void dma_enable(bool on)
{
    consecutive_timeouts = 0;
    disabled = !on;
}

bool dma_enabled(void)
{
    return has_controller() && !disabled;
}
