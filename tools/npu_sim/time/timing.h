// SPDX-License-Identifier: MIT
/**
 * Start and end times of operations: kernels and copies are two parallel queues, and the commands
 * that fill them wait for either.
 */
#ifndef NPU_TIMING_H
#define NPU_TIMING_H

#include <stdint.h>

#include "npu_sim.h"

struct npu;
struct npu_op;
struct npu_traffic;

/** Cycles of an operation with a kernel or an OFM, whenever it begins. */
struct npu_kernel_time {
    uint64_t busy;
    uint64_t load, store; /**< before its first block, and after its last */
};

/** Compute them, and the costs that do not depend on when it begins. */
struct npu_kernel_time npu_cost_kernel(const struct npu *npu, const struct npu_op *op,
                                       const struct npu_traffic *traffic, struct npu_costs *costs);

/** Add it, and record when it begins and ends in the trace. */
void npu_time_kernel(struct npu *npu, const struct npu_kernel_time *time);

/** Add a copy; its size is in the trace. */
void npu_time_copy(struct npu *npu);

/** NPU_OP_KERNEL_WAIT and NPU_OP_DMA_WAIT: wait until at most `left` are running. */
void npu_wait_kernels(struct npu *npu, unsigned left);
void npu_wait_copies(struct npu *npu, unsigned left);

/** Cycles since the last call, until all started operations have ended. */
uint64_t npu_elapsed_cycles(struct npu *npu);

#endif
