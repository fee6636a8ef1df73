// SPDX-License-Identifier: MIT
/** Between dma_device.c and the kinds of controllers, dma_NAME.c. */
#ifndef DMA_KIND_H
#define DMA_KIND_H

#include "dma_device.h"

/** What a kind does. */
struct dma_operations {
    void (*create)(const struct dma_slot *slot);
    void (*reset)(void);
};

extern const struct dma_operations dma_350, dma_pl081, dma_pl330;

/* ---- what all kinds have ---- */

enum dma_fault { DMA_BUS_ERROR, DMA_ABORT, DMA_IRQ_LOST, DMA_HANG, DMA_FAULT_COUNT };

/** Does this fault happen now? Counts it down. */
bool dma_fault_due(enum dma_fault fault);

/** A transfer starts; what the guest executes from now on counts. */
uint64_t dma_note_start(void);

/** A transfer that began with this count of instructions is complete. */
void dma_note_end(uint64_t instructions_at_start);

/** When a transfer of so many units that starts now is complete: virtual time in ns. */
int64_t dma_due_time(uint64_t units);

#endif
