// SPDX-License-Identifier: MIT
/** Interface between dma_device.c and the controller kinds, dma_NAME.c. */
#ifndef DMA_KIND_H
#define DMA_KIND_H

#include "dma/dma_device.h"

/** Operations of a kind. */
struct dma_operations {
    void (*create)(const struct dma_slot *slot);
    void (*reset)(void);
    uint32_t window_size; /**< bytes of registers */
    uint32_t (*read)(void *context, uint32_t offset);
    void (*write)(void *context, uint32_t offset, uint32_t value);
};

#define DMA_KIND(KIND, name) extern const struct dma_operations dma_##name;
#include "dma/dma_kinds.def"
#undef DMA_KIND

/* ---- shared by all kinds ---- */

enum dma_fault { DMA_BUS_ERROR, DMA_ABORT, DMA_IRQ_LOST, DMA_HANG, DMA_FAULT_COUNT };

/** Is this fault due? Decrements its count. */
bool dma_fault_due(enum dma_fault fault);

/** A transfer starts: return the instruction count. */
uint64_t dma_note_start(void);

/** A transfer that started at this instruction count is complete. */
void dma_note_end(uint64_t instructions_at_start);

/** Completion time of a transfer of `units` units that starts now, in ns of virtual time. */
int64_t dma_due_time(uint64_t units);

#endif
