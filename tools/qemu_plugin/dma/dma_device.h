// SPDX-License-Identifier: MIT
/** The DMA controller of the emulated board, based on QEMU's where available. */
#ifndef DMA_DEVICE_H
#define DMA_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "board/gate.h"

/** The last transfer, from start to interrupt. */
struct dma_run_record {
    uint64_t instructions; /**< executed by the guest meanwhile */
    bool idle;             /**< the CPU was asleep on completion */
};

/** To add a kind, add a file dma_NAME.c and a row in dma_kinds.def. */
enum dma_kind {
#define DMA_KIND(KIND, name) DMA_##KIND,
#include "dma/dma_kinds.def"
#undef DMA_KIND
};

/** The controller's addresses and interrupts on a board. */
struct dma_slot {
    enum dma_kind kind;
    uint32_t base;      /**< 0 if the board has none */
    unsigned irq;       /**< NVIC interrupt number; of event 0 (PL330) or channel 0 (DMA-350, DW) */
    unsigned abort_irq; /**< PL330: NVIC number for aborts */
    struct gates gate;  /**< its clock */
    struct gates protection; /**< of its registers, see machine.h */
    struct gates master;     /**< PL081: while closed, its transfers change nothing */
    struct gate reset;       /**< PL330: the reset that makes its manager secure */
};

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

const struct dma_run_record *dma_device_last_run(void);

#endif
