// SPDX-License-Identifier: MIT
/** The DMA controller of the emulated board: QEMU's own, of the board's kind. */
#ifndef DMA_DEVICE_H
#define DMA_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "gate.h"

/** The last transfer, from its start to its interrupt. */
struct dma_run_record {
    uint64_t instructions; /**< that the guest executed meanwhile */
    bool idle;             /**< the CPU was asleep as it completed */
};

/** A new kind is a file dma_NAME.c, with a row in dma_device.c. */
enum dma_kind { DMA_350, DMA_PL081, DMA_PL330 };

/** Where a board has the controller. */
struct dma_slot {
    enum dma_kind kind;
    uint32_t base;      /**< 0: the board has none */
    unsigned irq;       /**< NVIC number of its interrupt; of a PL330: of event 0, of a DMA-350: of
                           channel 0 */
    unsigned abort_irq; /**< PL330: of its aborts */
    struct gate gate;   /**< its clock */
    struct gate reset;  /**< PL330: the reset from which its manager comes out secure */
};

/** Create the controller in the machine; ends QEMU with a sentence when it cannot. */
void dma_device_create(const struct dma_slot *slot);

/** Machine reset: a transfer that has not begun does not happen. QEMU resets its own part. */
void dma_device_reset(void);

/**
 * Let a fault happen to the next `count` transfers: "bus-error" ends with an
 * error before anything is copied, "abort" after half of it; "irq-lost" is
 * complete, but nothing says so; "hang" never ends.
 *
 * @return  false: no such fault
 */
bool dma_device_inject(const char *fault, unsigned count);

const struct dma_run_record *dma_device_last_run(void);

#endif
