// SPDX-License-Identifier: MIT
/** The output stage of 8-bit convolutions, in 32 bits. */
#include "requant.h"

#include <string.h>

#include "clones.h"
#include "dot.h"
#include "npu_internal.h"

enum { HIGH_BITS = 31, VECTOR = NPU_REQUANT_VECTOR };

/** The scale's result fits 32 bits after its first shift, whatever the sum. */
static bool fits(const struct npu_channel_scale *record, int64_t largest_sum)
{
    unsigned shift = record->scale.shift < HIGH_BITS ? record->scale.shift : HIGH_BITS;
    int64_t bias = record->bias < 0 ? -record->bias : record->bias;
    int64_t largest = largest_sum + bias;
    return record->scale.shift >= 1 && record->scale.multiplier <= INT32_MAX && largest <= INT32_MAX &&
           largest * record->scale.multiplier >> shift < (1 << 30);
}

bool npu_requant_open(struct npu *npu, struct npu_requant *requant,
                      const struct npu_output *output, const struct npu_channel_scale *scales,
                      unsigned accumulator_bits, int64_t largest_sum)
{
    size_t channels = output->map.depth;
    size_t step = (channels + NPU_DOT_LANES - 1) / NPU_DOT_LANES * NPU_DOT_LANES;
    bool activation = output->activation == NPU_ACTIVATION_NONE ||
                      output->activation == NPU_ACTIVATION_TABLE;
    if (accumulator_bits != 32 || output->rounding != NPU_ROUND_DOUBLE || !activation ||
        output->map.bits == 32) {
        return false;
    }
    struct npu_requant_lane *lanes =
        npu_scratch_get(npu, NPU_BUFFER_REQUANT, step / VECTOR, sizeof *lanes);
    if (lanes == NULL) {
        return false;
    }
    memset(lanes, 0, step / VECTOR * sizeof *lanes);
    for (size_t c = 0; c < channels; c++) {
        if (!fits(&scales[c], largest_sum)) {
            return false;
        }
        struct npu_requant_lane *lane = &lanes[c / VECTOR];
        struct npu_scale scale = scales[c].scale;
        unsigned shift = scale.shift < HIGH_BITS ? scale.shift : HIGH_BITS;
        unsigned second = scale.shift - shift;
        lane->bias[c % VECTOR] = (int32_t)scales[c].bias;
        lane->multiplier[c % VECTOR] = (int32_t)scale.multiplier;
        lane->half[c % VECTOR] = (uint64_t)1 << (shift - 1);
        lane->shift[c % VECTOR] = shift;
        /* Past this the result is 0 anyway, since the value is below 2^30. */
        lane->second_shift[c % VECTOR] = (int32_t)(second < HIGH_BITS ? second : HIGH_BITS);
    }
    *requant = (struct npu_requant){
        lanes, (int32_t)output->zero_point, (int32_t)output->minimum, (int32_t)output->maximum,
    };
    return true;
}

/* Vectors of the compiler: it makes the best of what the machine has. */
typedef int32_t lanes32_t __attribute__((vector_size(4 * VECTOR)));
typedef uint32_t lanes32u_t __attribute__((vector_size(4 * VECTOR)));
typedef int64_t lanes64_t __attribute__((vector_size(8 * VECTOR)));
typedef uint64_t lanes64u_t __attribute__((vector_size(8 * VECTOR)));

/** One pixel, whole lanes: TFLite's double rounding. */
NPU_CLONES static void requant_pixel(const struct npu_requant *requant, const int32_t *sums,
                                     size_t step, int32_t *out)
{
    const struct npu_requant_lane *lane = requant->lanes;
    for (size_t c = 0; c + VECTOR <= step; c += VECTOR, lane++) {
        lanes32_t sum, bias, multiplier, second;
        lanes64u_t half, shift;
        memcpy(&sum, sums + c, sizeof sum);
        memcpy(&bias, lane->bias, sizeof bias);
        memcpy(&multiplier, lane->multiplier, sizeof multiplier);
        memcpy(&half, lane->half, sizeof half);
        memcpy(&shift, lane->shift, sizeof shift);
        memcpy(&second, lane->second_shift, sizeof second);
        lanes64_t product = __builtin_convertvector(sum + bias, lanes64_t) *
                            __builtin_convertvector(multiplier, lanes64_t);
        /* The value fits 32 bits: a logical shift brings the right low half. */
        lanes64u_t shifted = ((lanes64u_t)product + half) >> shift;
        lanes32_t high = (lanes32_t)__builtin_convertvector(shifted, lanes32u_t);
        lanes32_t mask = (lanes32_t)(((lanes32u_t){0} + 1u) << (lanes32u_t)second) - 1;
        /* Comparisons give -1 for true. */
        lanes32_t threshold = (mask >> 1) - (high < 0);
        lanes32_t value = (high >> second) - ((high & mask) > threshold) + requant->zero_point;
        lanes32_t low = value < requant->minimum;
        value = (value & ~low) | (requant->minimum & low);
        lanes32_t above = value > requant->maximum;
        value = (value & ~above) | (requant->maximum & above);
        memcpy(out + c, &value, sizeof value);
    }
}

/** From [pixels][step] to [pixels][channels]. */
static void close_gaps(int32_t *values, size_t pixels, size_t channels, size_t step)
{
    for (size_t p = 1; p < pixels && step != channels; p++) {
        memmove(values + p * channels, values + p * step, channels * sizeof *values);
    }
}

bool npu_requant_write(struct npu *npu, const struct npu_requant *requant,
                       const struct npu_output *output, uint32_t y, uint32_t x, uint32_t pixels,
                       const int32_t *sums, size_t sum_step)
{
    size_t channels = output->map.depth;
    int32_t *result = npu_scratch_get(npu, NPU_BUFFER_RESULT, pixels, sum_step * sizeof *result);
    if (result == NULL) {
        return false;
    }
    for (uint32_t p = 0; p < pixels; p++) {
        requant_pixel(requant, sums + p * sum_step, sum_step, result + p * sum_step);
    }
    close_gaps(result, pixels, channels, sum_step);
    if (output->activation == NPU_ACTIVATION_TABLE) {
        for (size_t i = 0; i < pixels * channels; i++) {
            uint32_t index = (uint32_t)(result[i] - (int32_t)output->table_origin);
            result[i] = npu_table_lookup(output->table, output->map.bits, index);
        }
    }
    return npu_write_pixels(npu, &output->map, y, x, pixels, result);
}
