// SPDX-License-Identifier: MIT
/**
 * Interface between the DMA copy (dma_copy.c), the driver of a controller
 * (dma_NAME.c) and the board. There is one controller per image, bound at link
 * time, so a board without its driver does not link.
 *
 * All addresses here are bus addresses.
 */
#ifndef DRIVERS_DMA_CONTROLLER_H
#define DRIVERS_DMA_CONTROLLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ethosu_board.h"

#define DMA_LINE 32u /**< bytes of a cache line, Cortex-M55 and Cortex-M85 */

/**
 * A variable that the controller reads, such as a list of transfers. It occupies
 * whole cache lines in DATA. If the controller can't access DATA, the board places
 * this section elsewhere in its memory.ld.
 */
#define DMA_SHARED __attribute__((section(".bss.dma_shared"), aligned(DMA_LINE)))

/* ---- the board supplies ---- */

struct dma_board {
    uintptr_t base;     /**< of the controller's registers */
    unsigned irq;       /**< its interrupt; if there are several, the one of channel (or event) 0 */
    unsigned abort_irq; /**< its error interrupt, if separate */
    /**
     * Minimum size for which DMA takes fewer instructions; at least 64.
     * host_tests/firmware/drivers/test_copy_cost.py measures both.
     */
    size_t least;
    size_t least_cached; /**< the same with the data cache on, including cache maintenance */
};

extern const struct dma_board dma_board;

/* ---- the driver of a controller supplies ---- */

/** A transfer; the size is a multiple of a cache line. */
struct dma_transfer {
    uintptr_t to; /**< at the start of a cache line */
    uintptr_t from;
    size_t size;
};

/**
 * Initialise the controller and connect its interrupts; called once.
 *
 * @return  false if it is missing or unusable
 */
bool dma_controller_prepare(void);

/**
 * Start copying as much as the controller can at once, and subtract it from `rest`
 * before starting. Each start ends with a call of dma_copy_ended() from an
 * interrupt. This function also cleans the controller's own data, such as a list,
 * and executes a barrier.
 *
 * @return  false if it could not be started
 */
bool dma_controller_start(struct dma_transfer *rest);

/** Abort the transfer in any state of the controller. Interrupts are masked. */
void dma_controller_halt(void);

/* ---- the copy supplies ---- */

/** Report the end of a transfer; called from an interrupt. */
void dma_copy_ended(bool failed);

/**
 * Find the memory of a span in the board's table.
 *
 * @param masters  required access: ETHOSU_DMA_READS, ETHOSU_DMA_WRITES
 * @return         NULL if not found or not accessible to the controller
 */
const struct ethosu_memory *dma_copy_memory(const void *start, size_t size, unsigned masters);

/** Convert a CPU address in this memory to a bus address. */
static inline uintptr_t dma_copy_bus_address(const struct ethosu_memory *memory,
                                             const void *address)
{
    const uintptr_t alias =
        memory->dma_address != 0 ? memory->dma_address : (uintptr_t)memory->npu_address;
    return alias == 0 ? (uintptr_t)address
                      : alias + ((uintptr_t)address - (uintptr_t)memory->start);
}

#endif
