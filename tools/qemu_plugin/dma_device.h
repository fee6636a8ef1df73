// SPDX-License-Identifier: MIT
/** The DMA controller of the emulated board: QEMU's own PL081. */
#ifndef DMA_DEVICE_H
#define DMA_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

/** The last transfer, from its start to its interrupt. */
struct dma_run_record {
    uint64_t instructions; /**< that the guest executed meanwhile */
    bool idle;             /**< the CPU was asleep as it completed */
};

/** Where a board has the controller. */
struct dma_slot {
    uint32_t base;
    unsigned irq; /**< NVIC number of its combined interrupt */
};

/** Create the controller in the machine; ends QEMU with a sentence when it cannot. */
void dma_device_create(const struct dma_slot *slot);

/** Machine reset: a transfer that has not begun does not happen. QEMU resets the PL081 itself. */
void dma_device_reset(void);

/**
 * Let a fault happen to the next `count` transfers: "bus-error" ends with the
 * error interrupt before anything is copied, "abort" in the midst of its first
 * piece; "irq-lost" is complete, but nothing says so; "hang" never ends.
 *
 * @return  false: no such fault
 */
bool dma_device_inject(const char *fault, unsigned count);

const struct dma_run_record *dma_device_last_run(void);

#endif
