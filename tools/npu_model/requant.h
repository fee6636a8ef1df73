// SPDX-License-Identifier: MIT
/**
 * The output stage in 32 bits: what npu_scale_channels() or npu_scale_all(),
 * and npu_output_write() compute, for the scales that Vela gives real 8-bit
 * networks.
 *
 * It works on bricks of NPU_BRICK channels, in place: sums [pixels][NPU_BRICK]
 * become OFM elements.
 */
#ifndef NPU_REQUANT_H
#define NPU_REQUANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "output.h"

enum { NPU_REQUANT_VECTOR = 8 };

/** Values of some channels; the shift is split where double rounding splits it.
 */
struct npu_requant_lane {
    int32_t bias[NPU_REQUANT_VECTOR];
    int64_t multiplier[NPU_REQUANT_VECTOR];
    int64_t half[NPU_REQUANT_VECTOR]; /**< of the first shift */
    int64_t shift[NPU_REQUANT_VECTOR];
    int32_t second_shift[NPU_REQUANT_VECTOR];
};

struct npu_requant {
    const struct npu_requant_lane *lanes; /**< all channels, rounded up to bricks */
    const struct npu_output *output;
};

/**
 * Prepare one scale for each channel, or one for all.
 *
 * @param largest_sum       magnitude that no sum exceeds
 * @param accumulator_bits  32, or this way is not exact
 * @return false when this way would not be exact, or memory is short; not a
 * fault
 */
bool npu_requant_open_channels(struct npu *npu, struct npu_requant *requant,
                               const struct npu_output *output,
                               const struct npu_channel_scale *scales, unsigned accumulator_bits,
                               int64_t largest_sum);
bool npu_requant_open_all(struct npu *npu, struct npu_requant *requant,
                          const struct npu_output *output, struct npu_scale scale,
                          int64_t largest_sum);

/** Turn one brick of sums into OFM elements; with one scale for all, brick is
 * 0. */
void npu_requant(const struct npu_requant *requant, size_t brick, size_t pixels, int32_t *sums);

#endif
