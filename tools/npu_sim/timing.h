// SPDX-License-Identifier: MIT
/**
 * When operations begin and end: kernels and copies are two queues that work side
 * by side, and the commands that fill them wait for either.
 */
#ifndef NPU_TIMING_H
#define NPU_TIMING_H

#include <stdint.h>

#include "npu_sim.h"

struct npu;
struct npu_op;
struct npu_traffic;

enum { NPU_QUEUE = 4 /**< copies under way on Ethos-U85; the others have fewer */ };

/** Operations of one kind; all times are cycles since the run started. */
struct npu_queue {
    unsigned count;          /**< begun so far */
    uint64_t end[NPU_QUEUE]; /**< of the last ones, by their number modulo NPU_QUEUE */
};

struct npu_timeline {
    uint64_t now; /**< of the commands: what they have waited for is over */
    struct npu_queue kernels, copies;
    uint64_t drain;   /**< cycles at the end of the last kernel in which it only writes */
    uint64_t settled; /**< what npu_settle() has reported */
};

/** Add an operation with a kernel or an OFM, and note its costs in the trace. */
void npu_time_kernel(struct npu *npu, const struct npu_op *op, const struct npu_traffic *traffic);

/** Add a copy, whose bytes are in the trace. */
void npu_time_copy(struct npu *npu);

/** NPU_OP_KERNEL_WAIT and NPU_OP_DMA_WAIT: go on when so many are under way. */
void npu_wait_kernels(struct npu *npu, unsigned left);
void npu_wait_copies(struct npu *npu, unsigned left);

/** Cycles that have passed since the last call, until all that was begun has ended. */
uint64_t npu_settle(struct npu *npu);

#endif
