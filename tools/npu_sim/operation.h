// SPDX-License-Identifier: MIT
/** What every operation reports when it is done: trace, events, cycle estimate. */
#ifndef NPU_OPERATION_H
#define NPU_OPERATION_H

#include <stdbool.h>
#include <stdint.h>

#include "npu_sim.h"
#include "product.h"

struct npu_kernel_window;

/** What an operation was; members that it does not have are NULL. */
struct npu_work {
    const struct npu_feature_map *ifm, *ifm2, *ofm;
    const struct npu_kernel_window *window;
    uint32_t inputs; /**< input channels that each output channel sums over, 0 for no MACs */
    enum npu_output_class output_class;
    bool tables; /**< the output unit applies a function */
};

/** Start of an operation: forget the last one's trace. */
void npu_operation_begin(struct npu *npu, uint32_t param);

/** Cycles of the MAC array and of the output unit, estimated (cycles.c). */
struct npu_cycle_estimate {
    uint64_t mac, output;
};
bool npu_estimate_cycles(struct npu *npu, const struct npu_work *work,
                         struct npu_cycle_estimate *estimate);

/** End of an operation. Always true, for the caller to return. */
bool npu_operation_done(struct npu *npu, const struct npu_work *work);

#endif
