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

#include "core/op.h"
#include "operands/accumulators.h"
#include "operands/output.h"
#include "weights/weights.h"

struct npu_operator {
    /** Fill an op that is zero except for `param`; false after recording a fault. */
    bool (*decode)(struct npu *npu, struct npu_op *op);
    /** Compute, with the feature maps open; false after recording a fault. */
    bool (*execute)(struct npu *npu, const struct npu_op *op);
};

/** Zeroed memory in the op for at most NPU_DECODED_MAX bytes of operator-specific state. */
void *npu_new_decoded(struct npu_op *op, size_t bytes);

/**
 * Decode IFM, IFM2 or OFM; invalid values are a parse error. The caller sets height and width of
 * inputs. A map without storage is not `used`.
 */
bool npu_decode_ifm(struct npu *npu, struct npu_feature_map *map);
/** The same without the depth, which the caller also sets. */
bool npu_decode_ifm_operand(struct npu *npu, struct npu_feature_map *map);
bool npu_decode_ifm2(struct npu *npu, struct npu_feature_map *map);
/** Only the element type and zero point, for scalars. */
bool npu_decode_ifm_type(struct npu *npu, struct npu_feature_map *map);
bool npu_decode_ifm2_type(struct npu *npu, struct npu_feature_map *map);
bool npu_decode_ofm(struct npu *npu, struct npu_feature_map *map);

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

#endif
