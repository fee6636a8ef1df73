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

enum { NPU_REQUANT_VECTOR = 8 };

/** Values of some channels; the shift is split where double rounding splits it. */
struct npu_requant_lane {
    int32_t bias[NPU_REQUANT_VECTOR];
    int32_t multiplier[NPU_REQUANT_VECTOR];
    uint64_t half[NPU_REQUANT_VECTOR]; /**< of the first shift */
    uint64_t shift[NPU_REQUANT_VECTOR];
    int32_t second_shift[NPU_REQUANT_VECTOR];
};

struct npu_requant {
    const struct npu_requant_lane *lanes; /**< all channels, rounded up to NPU_DOT_LANES */
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

/** Requantise sums [pixels][sum_step], whole lanes, of pixels x.. of row y, and store them. */
bool npu_requant_write(struct npu *npu, const struct npu_requant *requant,
                       const struct npu_output *output, uint32_t y, uint32_t x, uint32_t pixels,
                       const int32_t *sums, size_t sum_step);

#endif
