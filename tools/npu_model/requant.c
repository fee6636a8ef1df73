// SPDX-License-Identifier: MIT
/** The output stage of 8-bit convolutions, in 32 bits. */
#include "requant.h"

#include "clones.h"
#include "npu_internal.h"

enum { HIGH_BITS = 31, ARRAYS = 4 };

/** The scale's result fits 32 bits after its first shift, whatever the sum. */
static bool fits(const struct npu_channel_scale *record, int64_t largest_sum)
{
    unsigned shift = record->scale.shift < HIGH_BITS ? record->scale.shift : HIGH_BITS;
    int64_t bias = record->bias < 0 ? -record->bias : record->bias;
    int64_t largest = largest_sum + bias;
    return record->scale.shift >= 1 && record->scale.shift <= HIGH_BITS + 30 &&
           record->scale.multiplier <= INT32_MAX && largest <= INT32_MAX &&
           largest * record->scale.multiplier >> shift < (1 << 30);
}

bool npu_requant_open(struct npu *npu, struct npu_requant *requant,
                      const struct npu_output *output, const struct npu_channel_scale *scales,
                      unsigned accumulator_bits, int64_t largest_sum)
{
    size_t channels = output->map.depth;
    bool activation = output->activation == NPU_ACTIVATION_NONE ||
                      output->activation == NPU_ACTIVATION_TABLE;
    if (accumulator_bits != 32 || output->rounding != NPU_ROUND_DOUBLE || !activation ||
        output->map.bits == 32) {
        return false;
    }
    int32_t *memory = npu_scratch_get(npu, NPU_BUFFER_REQUANT, channels, ARRAYS * sizeof *memory);
    if (memory == NULL) {
        return false;
    }
    int32_t *bias = memory;
    int32_t *multiplier = bias + channels;
    int32_t *shift = multiplier + channels;
    int32_t *second_shift = shift + channels;
    for (size_t c = 0; c < channels; c++) {
        if (!fits(&scales[c], largest_sum)) {
            return false;
        }
        struct npu_scale scale = scales[c].scale;
        bias[c] = (int32_t)scales[c].bias;
        multiplier[c] = (int32_t)scale.multiplier;
        shift[c] = scale.shift < HIGH_BITS ? scale.shift : HIGH_BITS;
        second_shift[c] = scale.shift - shift[c];
    }
    *requant = (struct npu_requant){
        bias, multiplier, shift, second_shift, (int32_t)output->zero_point,
        (int32_t)output->minimum, (int32_t)output->maximum,
    };
    return true;
}

/** One pixel: TFLite's double rounding. */
NPU_CLONES static void requant_pixel(const int32_t *restrict sums, const int32_t *restrict bias,
                                     const int32_t *restrict multiplier,
                                     const int32_t *restrict shift,
                                     const int32_t *restrict second_shift, size_t channels,
                                     int32_t zero_point, int32_t minimum, int32_t maximum,
                                     int32_t *restrict out)
{
    for (size_t c = 0; c < channels; c++) {
        uint64_t half = (uint64_t)1 << shift[c] >> 1;
        uint64_t product = (uint64_t)((int64_t)(sums[c] + bias[c]) * multiplier[c]) + half;
        /* The value fits 32 bits: a logical shift brings the right low half. */
        int32_t high = (int32_t)(uint32_t)(product >> shift[c]);
        int32_t mask = (int32_t)((1u << second_shift[c]) - 1);
        int32_t threshold = (mask >> 1) + (high < 0);
        int32_t value = (high >> second_shift[c]) + ((high & mask) > threshold) + zero_point;
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
                      requant->second_shift, channels, requant->zero_point, requant->minimum, requant->maximum,
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
