// SPDX-License-Identifier: MIT
/**
 * An operation: decoded from the command registers into one struct and checked, then executed, then
 * reported (trace, events, cycle estimate).
 *
 * Only decoding reads the command registers; npu_get() asserts this. Each operator has its own file
 * with a `struct npu_operator`, which commands.def refers to.
 */
#ifndef NPU_OPERATION_H
#define NPU_OPERATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "operands/accumulators.h"
#include "operands/kernel.h"
#include "npu_sim.h"
#include "operands/output.h"
#include "core/product.h"
#include "weights/weights.h"

/** Block size in which the hardware computes an OFM. */
struct npu_block {
    uint32_t height, width, depth;
    struct npu_microblock unit;
};

enum { NPU_DECODED_MAX = 160 /**< bytes of operator-specific state */ };

/** Everything needed to execute an operation, except memory. */
struct npu_op {
    uint32_t param; /**< of its command: the mode */

    /* Feature maps; those not `used` are not in memory. */
    struct npu_feature_map ifm, ifm2;
    struct npu_output output; /**< the OFM and the processing of values before they are stored */
    struct npu_scale scale;   /**< OFM_SCALE, where it applies; else 1 >> 0 */
    struct npu_block block;   /**< depth 0: the operation has no OFM */

    struct npu_kernel kernel; /**< height 0: the operation has none */
    struct npu_accumulators accumulators;
    struct npu_weight_streams weights;
    struct npu_scale_streams scales;

    const void *decoded; /**< operator-specific state, see npu_new_decoded() */
    uint64_t decoded_space[NPU_DECODED_MAX / sizeof(uint64_t)];

    /* For transfers and timing. */
    uint32_t inputs;  /**< input channels that each output channel sums over, 0 for no MACs */
    bool spans_depth; /**< each output channel needs all input channels */
    enum npu_output_class output_class;
};

struct npu_operator {
    /** Fill an op that is zero except for `param`; false after recording a fault. */
    bool (*decode)(struct npu *npu, struct npu_op *op);
    /** Compute, with the feature maps open; false after recording a fault. */
    bool (*execute)(struct npu *npu, const struct npu_op *op);
};

/** Zeroed memory in the op for at most NPU_DECODED_MAX bytes of operator-specific state. */
void *npu_new_decoded(struct npu_op *op, size_t bytes);

/** Decode OFM, activation and block; the first step of all operators except DMA and branches. */
bool npu_decode_output(struct npu *npu, struct npu_op *op);

/** Decode IFM, kernel, padding and upscale; requires the OFM. */
bool npu_decode_kernel(struct npu *npu, struct npu_op *op);

/** Decode ACC_FORMAT; requires the OFM, which becomes unused if the accumulators are kept. */
bool npu_decode_accumulators(struct npu *npu, struct npu_op *op);

/**
 * Decode weight streams; requires kernel and OFM. depthwise: one input channel per output channel.
 */
bool npu_decode_weights(struct npu *npu, struct npu_op *op, bool depthwise);

/** Decode the scales of all channels: OFM_SCALE, or the scale streams. */
bool npu_decode_scales(struct npu *npu, struct npu_op *op);

/** Decode, execute and report one operation. */
bool npu_perform(struct npu *npu, const struct npu_operator *operator, uint32_t param);

#endif
