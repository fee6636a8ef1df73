// SPDX-License-Identifier: MIT
/** The output stage of 8-bit convolutions, in 32 bits. */
#include "requant.h"

#include "clones.h"
#include "npu_internal.h"

enum { HIGH_BITS = 31 };

bool npu_requant_open(struct npu *npu, struct npu_requant *requant,
                      const struct npu_output *output, const struct npu_channel_scale *scales,
                      unsigned accumulator_bits)
{
    size_t channels = output->map.depth;
    bool activation = output->activation == NPU_ACTIVATION_NONE ||
                      output->activation == NPU_ACTIVATION_TABLE;
    if (accumulator_bits != 32 || output->rounding != NPU_ROUND_DOUBLE || !activation ||
        output->map.bits == 32) {
        return false;
    }
    int32_t *memory = npu_scratch_get(npu, NPU_BUFFER_REQUANT, channels, 3 * sizeof *memory);
    if (memory == NULL) {
        return false;
    }
    int32_t *bias = memory;
    int32_t *multiplier = memory + channels;
    int32_t *shift = memory + 2 * channels;
    for (size_t c = 0; c < channels; c++) {
        struct npu_scale scale = scales[c].scale;
        if (scale.shift < HIGH_BITS || scale.shift > HIGH_BITS + 30 ||
            scale.multiplier > INT32_MAX) {
            return false;
        }
        bias[c] = (int32_t)(uint64_t)scales[c].bias;
        multiplier[c] = (int32_t)scale.multiplier;
        shift[c] = scale.shift - HIGH_BITS;
    }
    *requant = (struct npu_requant){bias, multiplier, shift, (int32_t)output->zero_point,
                                    (int32_t)output->minimum, (int32_t)output->maximum};
    return true;
}

/** One pixel: TFLite's double rounding; the accumulator wraps at 32 bits. */
NPU_CLONES static void requant_pixel(const int32_t *restrict sums, const int32_t *restrict bias,
                                     const int32_t *restrict multiplier,
                                     const int32_t *restrict shift, size_t channels,
                                     int32_t zero_point, int32_t minimum, int32_t maximum,
                                     int32_t *restrict out)
{
    for (size_t c = 0; c < channels; c++) {
        int32_t acc = (int32_t)((uint32_t)sums[c] + (uint32_t)bias[c]);
        int64_t product = (int64_t)acc * multiplier[c] + (1 << 30);
        int32_t high = (int32_t)((uint64_t)product >> HIGH_BITS);
        int32_t mask = (int32_t)((1u << shift[c]) - 1);
        int32_t threshold = (mask >> 1) + (high < 0);
        int32_t value = (high >> shift[c]) + ((high & mask) > threshold);
        /* Far outside the clamp already: the sum cannot be allowed to wrap. */
        value = value > (1 << 30) ? 1 << 30 : value;
        value = value < -(1 << 30) ? -(1 << 30) : value;
        value += zero_point;
        value = value < minimum ? minimum : value;
        out[c] = value > maximum ? maximum : value;
    }
}

bool npu_requant_write(struct npu *npu, const struct npu_requant *requant,
                       const struct npu_output *output, uint32_t y, uint32_t x, uint32_t pixels,
                       const int32_t *sums, size_t sum_step)
{
    size_t channels = output->map.depth;
    int32_t *result = npu_scratch_get(npu, NPU_BUFFER_RESULT, pixels, channels * sizeof *result);
    if (result == NULL) {
        return false;
    }
    for (uint32_t p = 0; p < pixels; p++) {
        requant_pixel(sums + p * sum_step, requant->bias, requant->multiplier, requant->shift,
                      channels, requant->zero_point, requant->minimum, requant->maximum,
                      result + p * channels);
    }
    if (output->activation == NPU_ACTIVATION_TABLE) {
        for (size_t i = 0; i < pixels * channels; i++) {
            uint32_t index = (uint32_t)(result[i] - (int32_t)output->table_origin);
            result[i] = npu_table_lookup(output->table, output->map.bits, index);
        }
    }
    return npu_write_pixels(npu, &output->map, y, x, pixels, result);
}
