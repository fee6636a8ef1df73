// SPDX-License-Identifier: MIT
/** Transfers of the DMA controller: their time, their faults, and a record of the last one. */
#ifndef DMA_RUN_H
#define DMA_RUN_H

#include <stdbool.h>
#include <stdint.h>

/** The last transfer, from start to interrupt. */
struct dma_run_record {
    uint64_t instructions; /**< executed by the guest meanwhile */
    bool idle;             /**< the CPU was asleep on completion */
};

enum dma_fault { DMA_BUS_ERROR, DMA_ABORT, DMA_IRQ_LOST, DMA_HANG, DMA_FAULT_COUNT };

/** Is this fault due? Decrements its count. */
bool dma_fault_due(enum dma_fault fault);

/** A transfer starts: return the instruction count. */
uint64_t dma_note_start(void);

/** A transfer that started at this instruction count is complete. */
void dma_note_end(uint64_t instructions_at_start);

/** Completion time of a transfer of `units` units that starts now, in ns of virtual time. */
int64_t dma_due_time(uint64_t units);

/** See dma_device_inject(). */
bool dma_run_inject(const char *fault, unsigned count);

const struct dma_run_record *dma_run_last(void);

#endif
