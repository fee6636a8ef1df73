// SPDX-License-Identifier: MIT
/**
 * The output stage of 8-bit convolutions, in 32 bits: what npu_scale_channels()
 * and npu_output_write() compute, for the scales that Vela gives real networks.
 */
#ifndef NPU_REQUANT_H
#define NPU_REQUANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "output.h"

struct npu_requant {
    /** Per channel; the shift is split where double rounding splits it. */
    const int32_t *bias, *multiplier, *shift, *second_shift;
    int32_t zero_point, minimum, maximum;
};

/**
 * Prepare. largest_sum: magnitude that no sum exceeds.
 *
 * @return false when this way would not be exact, or memory is short; not a fault
 */
bool npu_requant_open(struct npu *npu, struct npu_requant *requant,
                      const struct npu_output *output, const struct npu_channel_scale *scales,
                      unsigned accumulator_bits, int64_t largest_sum);

/** Requantise sums [pixels][sum_step] of pixels x.. of row y, and store them. */
bool npu_requant_write(struct npu *npu, const struct npu_requant *requant,
                       const struct npu_output *output, uint32_t y, uint32_t x, uint32_t pixels,
                       const int32_t *sums, size_t sum_step);

#endif
