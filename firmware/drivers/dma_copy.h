// SPDX-License-Identifier: MIT
/** The DMA controller that copies tensors, and its statistics. */
#ifndef DRIVERS_DMA_COPY_H
#define DRIVERS_DMA_COPY_H

#include <stdbool.h>
#include <stdint.h>

/** Number of copies since start-up, except for members named bytes. */
struct dma_counters {
    uint32_t transfers; /**< copies that the controller made */
    uint64_t transfer_bytes;
    uint32_t cpu_copies; /**< copies that were the CPU's from the start */
    uint64_t cpu_bytes;
    uint32_t errors;   /**< transfers that ended with an error: the CPU copied again */
    uint32_t timeouts; /**< transfers that did not end in time: the same; see MAX_TIMEOUTS */
};

struct dma_counters dma_counters(void);

/** Let the CPU make all copies (false), or only those for which it is the better one (true). */
void dma_enable(bool on);

/** Is there a controller, and is it enabled? */
bool dma_enabled(void);

#endif
