// SPDX-License-Identifier: MIT
/**
 * AXI traffic of an operation. The hardware computes an OFM block by block. It fetches the part of
 * the IFM under each block every time, and fetches weights and scales again for each block across
 * and down.
 */
#ifndef NPU_TRAFFIC_H
#define NPU_TRAFFIC_H

#include <stdint.h>

#include "core/op.h"
#include "core/parts.h"

struct npu;

/** Bytes of one channel in one region. */
struct npu_flow {
    enum npu_channel channel;
    unsigned region;
    uint64_t bytes; /**< in whole beats */
    uint32_t run;   /**< contiguous bytes */
};

enum { NPU_FLOWS = 3 + NPU_WEIGHT_CORES + NPU_SCALE_CORES };

struct npu_traffic {
    unsigned count;
    struct npu_flow flow[NPU_FLOWS];
};

/** Compute the traffic of an operation with an OFM or a kernel. */
void npu_traffic_of(const struct npu *npu, const struct npu_op *op, struct npu_traffic *traffic);

#endif
