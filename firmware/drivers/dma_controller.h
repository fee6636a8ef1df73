// SPDX-License-Identifier: MIT
/**
 * Between the copy by DMA (dma_copy.c), the driver of a controller
 * (dma_NAME.c) and the board. One controller per image: its functions are
 * linked, so a board that forgets its driver does not link.
 *
 * Addresses here are those of the bus, which a controller sees.
 */
#ifndef DRIVERS_DMA_CONTROLLER_H
#define DRIVERS_DMA_CONTROLLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ethosu_board.h"

#define DMA_LINE 32u /**< bytes of a cache line, Cortex-M55 and Cortex-M85 */

/**
 * A variable that the controller itself reads, such as a list of transfers. It
 * fills whole cache lines, and lies in DATA; a board whose controller does not
 * see DATA takes this section elsewhere in its memory.ld.
 */
#define DMA_SHARED __attribute__((section(".bss.dma_shared"), aligned(DMA_LINE)))

/* ---- the board supplies ---- */

struct dma_board {
    uintptr_t base;     /**< of the controller's registers */
    unsigned irq;       /**< its interrupt; where it has several, that of channel or event 0 */
    unsigned abort_irq; /**< the interrupt of its errors, where that is another one */
    /**
     * Copies of so many bytes or more take fewer instructions by DMA: 64 at the
     * least. host_tests/firmware/drivers/test_copy_cost.py measures both.
     */
    size_t least;
    size_t least_cached; /**< the same while the data cache is on: lines are cleaned, discarded */
};

extern const struct dma_board dma_board;

/* ---- the driver of a controller supplies ---- */

/** Bytes to copy: both ends, and the size, which is a multiple of a cache line. */
struct dma_transfer {
    uintptr_t to; /**< at the start of a cache line */
    uintptr_t from;
    size_t size;
};

/**
 * Called once: get the controller ready, and connect its interrupts.
 *
 * @return  false: it is not there, or cannot be used
 */
bool dma_controller_prepare(void);

/**
 * Start to copy, as much at once as the controller can do, and take that off
 * `rest` before it starts. Each start ends with a call of dma_copy_ended(), from
 * an interrupt. All that the controller reads but for the bytes, such as a list,
 * is cleaned here; a barrier is here, too.
 *
 * @return  false: it does not start
 */
bool dma_controller_start(struct dma_transfer *rest);

/** End what was started, whatever the controller is doing. Interrupts are masked. */
void dma_controller_halt(void);

/* ---- the copy supplies ---- */

/** What the controller has started has ended. From an interrupt. */
void dma_copy_ended(bool failed);

/**
 * Find the memory of a span in the board's table.
 *
 * @param masters  ETHOSU_DMA_READS, ETHOSU_DMA_WRITES: what the controller does there
 * @return         NULL: the controller cannot, or no such memory is known
 */
const struct ethosu_memory *dma_copy_memory(const void *start, size_t size, unsigned masters);

/** Where bus masters see an address of the CPU in this memory. */
static inline uintptr_t dma_copy_bus_address(const struct ethosu_memory *memory,
                                             const void *address)
{
    const uintptr_t alias = (uintptr_t)memory->npu_address;
    return alias == 0 ? (uintptr_t)address
                      : alias + ((uintptr_t)address - (uintptr_t)memory->start);
}

#endif
