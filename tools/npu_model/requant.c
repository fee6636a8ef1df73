// SPDX-License-Identifier: MIT
/** The output stage of 8-bit operations, in 32 bits. */
#include "requant.h"

#include <string.h>

#include "clones.h"
#include "npu_internal.h"

enum {
    FIRST_SHIFT_MAX = 31, /**< of double rounding */
    VECTOR = NPU_REQUANT_VECTOR,
    VECTORS = NPU_BRICK / VECTOR,
};

/** Past these, sums of products and halves could leave 64 bits, or results 32
 * bits. */
static const int64_t product_limit = (int64_t)1 << 62;
static const int64_t result_limit = (int64_t)1 << 30;

/** Fill one channel; false when 32 bits would not do. */
static bool fill_channel(struct npu_requant_lane *lane, size_t channel,
                         const struct npu_channel_scale *record, enum npu_rounding rounding,
                         int64_t largest_sum)
{
    /* A shift of 0 has no half: the same result comes from twice the multiplier
     * and a shift of 1. */
    bool unshifted = record->scale.shift == 0;
    int64_t multiplier = (int64_t)record->scale.multiplier << (unshifted ? 1 : 0);
    unsigned shift = unshifted ? 1 : record->scale.shift;
    bool twice = rounding == NPU_ROUND_DOUBLE && shift > FIRST_SHIFT_MAX;
    unsigned first = twice ? FIRST_SHIFT_MAX : shift;
    unsigned second = shift - first;
    int64_t largest = largest_sum + (record->bias < 0 ? -record->bias : record->bias);
    if (largest > INT32_MAX || first > 61 || largest > product_limit / (multiplier + 1) ||
        largest * multiplier >> first >= result_limit) {
        return false;
    }
    lane->bias[channel] = (int32_t)record->bias;
    lane->multiplier[channel] = multiplier;
    lane->half[channel] = (int64_t)1 << (first - 1);
    lane->shift[channel] = first;
    /* Past this the result is 0 anyway, since the value is below result_limit. */
    lane->second_shift[channel] = (int32_t)(second < FIRST_SHIFT_MAX ? second : FIRST_SHIFT_MAX);
    return true;
}

/** Room for the lanes of so many bricks, or NULL when the output stage needs
 * another way. */
static struct npu_requant_lane *get_lanes(struct npu *npu, const struct npu_output *output,
                                          size_t bricks)
{
    bool activation =
        output->activation == NPU_ACTIVATION_NONE || output->activation == NPU_ACTIVATION_TABLE;
    if (output->rounding == NPU_ROUND_TRUNCATE || !activation || output->map.bits == 32) {
        return NULL;
    }
    struct npu_requant_lane *lanes =
        npu_scratch_get(npu, NPU_BUFFER_REQUANT, bricks * VECTORS, sizeof *lanes);
    if (lanes != NULL) {
        memset(lanes, 0, bricks * VECTORS * sizeof *lanes);
    }
    return lanes;
}

bool npu_requant_open_channels(struct npu *npu, struct npu_requant *requant,
                               const struct npu_output *output,
                               const struct npu_channel_scale *scales, unsigned accumulator_bits,
                               int64_t largest_sum)
{
    size_t channels = output->map.depth;
    struct npu_requant_lane *lanes = get_lanes(npu, output, (channels + NPU_BRICK - 1) / NPU_BRICK);
    if (lanes == NULL || accumulator_bits != 32) {
        return false;
    }
    for (size_t c = 0; c < channels; c++) {
        if (!fill_channel(&lanes[c / VECTOR], c % VECTOR, &scales[c], output->rounding,
                          largest_sum)) {
            return false;
        }
    }
    *requant = (struct npu_requant){lanes, output};
    return true;
}

bool npu_requant_open_all(struct npu *npu, struct npu_requant *requant,
                          const struct npu_output *output, struct npu_scale scale,
                          int64_t largest_sum)
{
    struct npu_requant_lane *lanes = get_lanes(npu, output, 1);
    if (lanes == NULL) {
        return false;
    }
    const struct npu_channel_scale record = {0, scale};
    for (size_t c = 0; c < NPU_BRICK; c++) {
        if (!fill_channel(&lanes[c / VECTOR], c % VECTOR, &record, output->rounding, largest_sum)) {
            return false;
        }
    }
    *requant = (struct npu_requant){lanes, output};
    return true;
}

/* Vectors of the compiler: it makes the best of what the machine has. */
typedef int32_t lanes32_t __attribute__((vector_size(4 * VECTOR)));
typedef uint32_t lanes32u_t __attribute__((vector_size(4 * VECTOR)));
typedef int64_t lanes64_t __attribute__((vector_size(8 * VECTOR)));

/** One vector of channels of all pixels: scale, round, zero point, clamp. */
NPU_CLONES static void scale_vector(const struct npu_requant_lane *lane,
                                    const struct npu_output *output, size_t pixels, int32_t *values)
{
    const int32_t zero_point = (int32_t)output->zero_point;
    const int32_t minimum = (int32_t)output->minimum;
    const int32_t maximum = (int32_t)output->maximum;
    lanes32_t bias, second;
    lanes64_t multiplier, half, shift;
    memcpy(&bias, lane->bias, sizeof bias);
    memcpy(&multiplier, lane->multiplier, sizeof multiplier);
    memcpy(&half, lane->half, sizeof half);
    memcpy(&shift, lane->shift, sizeof shift);
    memcpy(&second, lane->second_shift, sizeof second);
    const lanes32_t mask = (lanes32_t)(((lanes32u_t){0} + 1u) << (lanes32u_t)second) - 1;
    const lanes32_t threshold = mask >> 1;
    for (size_t p = 0; p < pixels; p++, values += NPU_BRICK) {
        lanes32_t sum;
        memcpy(&sum, values, sizeof sum);
        lanes64_t product = __builtin_convertvector(sum + bias, lanes64_t) * multiplier;
        lanes32_t high = __builtin_convertvector((product + half) >> shift, lanes32_t);
        /* Half away from zero; comparisons give -1 for true. */
        lanes32_t up = (high & mask) > threshold - (high < 0);
        lanes32_t value = (high >> second) - up + zero_point;
        lanes32_t low = value < minimum;
        value = (value & ~low) | (minimum & low);
        lanes32_t above = value > maximum;
        value = (value & ~above) | (maximum & above);
        memcpy(values, &value, sizeof value);
    }
}

void npu_requant(const struct npu_requant *requant, size_t brick, size_t pixels, int32_t *sums)
{
    const struct npu_output *output = requant->output;
    for (size_t v = 0; v < VECTORS; v++) {
        scale_vector(&requant->lanes[brick * VECTORS + v], output, pixels, sums + v * VECTOR);
    }
    if (output->activation == NPU_ACTIVATION_TABLE) {
        for (size_t i = 0; i < pixels * NPU_BRICK; i++) {
            uint32_t index = (uint32_t)(sums[i] - (int32_t)output->table_origin);
            sums[i] = npu_table_lookup(output->table, output->map.bits, index);
        }
    }
}
