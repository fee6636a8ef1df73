// SPDX-License-Identifier: MIT
/** The DMA controller of the emulated board, based on QEMU's where available. */
#ifndef DMA_DEVICE_H
#define DMA_DEVICE_H

#include <stdbool.h>

#include "board/slots.h"

/** Create the controller in the machine; on failure ends QEMU with an error message. */
void dma_device_create(const struct dma_slot *slot);

/** Machine reset: drops a transfer that has not begun. QEMU resets its own part. */
void dma_device_reset(void);

/**
 * Let a fault happen to the next `count` transfers: "bus-error" ends with an error before anything
 * is copied, "abort" after half of it; "irq-lost" completes without an interrupt; "hang" never
 * ends.
 *
 * @return  false if the fault is unknown
 */
bool dma_device_inject(const char *fault, unsigned count);

#endif
