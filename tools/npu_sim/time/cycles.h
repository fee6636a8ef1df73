// SPDX-License-Identifier: MIT
/** Time that the NPU's units need for one block of an OFM. */
#ifndef NPU_CYCLES_H
#define NPU_CYCLES_H

#include <stdint.h>

struct npu;
struct npu_op;

/** Size of a block in elements: OFM_BLK, except for the last block along each axis. */
struct npu_extent {
    uint32_t height, width, depth;
};

/** Cycles of the MAC array for one block; 0 without a kernel. */
uint64_t npu_mac_cycles(const struct npu *npu, const struct npu_op *op, struct npu_extent block);

/** Cycles of the output unit for one block. */
uint64_t npu_output_cycles(const struct npu *npu, const struct npu_op *op, struct npu_extent block);

/** Part of the IFM that the hardware holds at a time for a block. */
struct npu_extent npu_input_block(const struct npu *npu, const struct npu_op *op,
                                  struct npu_extent block);

#endif
