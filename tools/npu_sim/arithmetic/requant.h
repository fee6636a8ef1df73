// SPDX-License-Identifier: MIT
/**
 * The output stage in 32 bits: same result as npu_scale_channels() or npu_scale_all(), and
 * npu_output_write(), for the scales that Vela gives real 8-bit networks.
 *
 * It works on bricks of NPU_BRICK channels: sums [pixels][NPU_BRICK] become OFM elements.
 */
#ifndef NPU_REQUANT_H
#define NPU_REQUANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/op.h"
#include "memory/feature_map.h"
#include "weights/weights.h"

enum { NPU_REQUANT_HALF = NPU_BRICK / 2 };

/**
 * Values of one brick of channels, scaled in two steps as in double rounding:
 *
 *     high = sum * whole + (sum * fraction + rounding) / 2^32, where sum includes the bias
 *     result = (high + second_half - 1 if negative) >> second_shift
 *
 * The products with fractions are unsigned: the bias adds 2^31, which the offset takes away again.
 * They have 64 bits, and are computed for even channels [0] and odd channels [1].
 */
struct npu_requant_brick {
    uint32_t bias[NPU_BRICK];
    uint32_t whole[NPU_BRICK];
    uint64_t fraction[2][NPU_REQUANT_HALF]; /**< of 32 bits */
    uint64_t offset[2][NPU_REQUANT_HALF];
    int32_t second_half[NPU_BRICK];
    int32_t second_sign[NPU_BRICK]; /**< all ones if the second step rounds */
    int32_t second_shift[NPU_BRICK];
};

/** Parts that any channel has. */
struct npu_requant_parts {
    bool whole, fraction;
    bool second; /**< a second step that rounds or shifts */
    bool apart;  /**< the zero point cannot be added before the second step */
};

struct npu_requant;

/**
 * Scale, round, add the zero point and clamp all pixels of a brick, in place or as bytes.
 *
 * @param values    [pixels][NPU_BRICK]
 * @param out       first byte; NULL: in place, with 32 bits
 * @param out_step  bytes from pixel to pixel
 * @param channels  number of bytes of a pixel
 */
typedef void npu_scale_brick_t(const struct npu_requant *requant,
                               const struct npu_requant_brick *brick, size_t pixels,
                               int32_t *values, uint8_t *out, int64_t out_step, size_t channels);

struct npu_requant {
    const struct npu_requant_brick *bricks; /**< one per brick of channels, or one for all */
    size_t brick_step;                      /**< from one to the next: 1 or 0 */
    struct npu_requant_parts parts;
    const struct npu_output *output;
    int32_t zero_point, minimum, maximum; /**< of the output */
    npu_scale_brick_t *scale;             /**< the best one for this CPU */
    bool bytes;                           /**< results are stored as bytes, without a table */
};

npu_scale_brick_t npu_scale_brick_avx2;
npu_scale_brick_t npu_scale_brick_avx512;
npu_scale_brick_t npu_scale_brick_neon;

/**
 * Prepare the scales of an operation, one for each channel.
 *
 * @param weights      keeps them for the next time; NULL: they are not kept
 * @param largest_sum  upper bound of a sum's magnitude
 * @return false if this path would not be exact or memory is short; not a fault
 */
bool npu_requant_open_channels(struct npu *npu, struct npu_requant *requant,
                               const struct npu_op *op, const struct npu_scale_records *records,
                               struct npu_weights *weights, int64_t largest_sum);

/** The same for one scale of all channels. */
bool npu_requant_open_all(struct npu *npu, struct npu_requant *requant,
                          const struct npu_output *output, struct npu_scale scale,
                          int64_t largest_sum);

/** Convert sums [count][NPU_BRICK] of channels with one scale to OFM elements, in place. */
void npu_requant(const struct npu_requant *requant, size_t count, int32_t *sums);

/**
 * Convert sums [pixels][NPU_BRICK] of a brick of channels to OFM elements, and store them.
 *
 * @param span  pixels of the OFM
 * @param sums  overwritten
 */
void npu_requant_store(const struct npu_requant *requant, const struct npu_span *span, size_t brick,
                       int32_t *sums);

#endif
