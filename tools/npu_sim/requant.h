// SPDX-License-Identifier: MIT
/**
 * The output stage in 32 bits: same result as npu_scale_channels() or npu_scale_all(), and
 * npu_output_write(), for the scales that Vela gives real 8-bit networks.
 *
 * It works in place on bricks of NPU_BRICK channels: sums [pixels][NPU_BRICK] become OFM elements.
 */
#ifndef NPU_REQUANT_H
#define NPU_REQUANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "output.h"

enum { NPU_REQUANT_HALF = NPU_BRICK / 2 };

/**
 * Values of one brick of channels; the shift is split as in double rounding.
 *
 * 64-bit products are computed for even channels [0] and odd channels [1].
 */
struct npu_requant_brick {
    int32_t bias[NPU_BRICK];
    int64_t multiplier[2][NPU_REQUANT_HALF];
    int64_t offset[2][NPU_REQUANT_HALF]; /**< for rounding, and to make the sum positive */
    int64_t shift[2][NPU_REQUANT_HALF];
    int32_t excess[NPU_BRICK]; /**< remainder of the offset after the shift */
    int32_t second_half[NPU_BRICK];
    int32_t second_sign[NPU_BRICK]; /**< all ones if there is a second shift */
    int32_t second_shift[NPU_BRICK];
};

struct npu_requant {
    const struct npu_requant_brick *bricks;
    const struct npu_output *output;
    bool narrow; /**< every multiplier fits 31 bits */
};

/** Scale, round, add the zero point and clamp all pixels of a brick; narrow multipliers only. */
void npu_scale_brick_avx2(const struct npu_requant_brick *brick, const struct npu_output *output,
                          size_t pixels, int32_t *values);

/**
 * Prepare one scale for each channel, or one for all.
 *
 * @param largest_sum       upper bound of a sum's magnitude
 * @param accumulator_bits  must be 32 for exact results
 * @return false if this path would not be exact or memory is short; not a fault
 */
bool npu_requant_open_channels(struct npu *npu, struct npu_requant *requant,
                               const struct npu_output *output,
                               const struct npu_channel_scale *scales, unsigned accumulator_bits,
                               int64_t largest_sum);
bool npu_requant_open_all(struct npu *npu, struct npu_requant *requant,
                          const struct npu_output *output, struct npu_scale scale,
                          int64_t largest_sum);

/** Convert one brick of sums to OFM elements; if all channels share one scale, brick is 0. */
void npu_requant(const struct npu_requant *requant, size_t brick, size_t pixels, int32_t *sums);

#endif
