// SPDX-License-Identifier: MIT
/** The output stage of 8-bit operations, in 32 bits. */
#include "requant.h"

#include <string.h>

#include "clones.h"
#include "dot_x86.h"
#include "npu_internal.h"

enum {
    DOUBLE_SHIFT = 31, /**< bit at which double rounding splits the shift */
    SHIFT_MAX = 31,    /**< of 32-bit values */
    HALF = NPU_REQUANT_HALF,
};

/**
 * Limits from which sums of products and halves could overflow 64 bits, or sums of results 32 bits.
 */
static const int64_t product_limit = (int64_t)1 << 62;
static const int64_t result_limit = ((int64_t)1 << 30) - 1;

/** Does its multiplier fit 31 bits, even if fill_channel() doubles it? */
static bool is_narrow(struct npu_scale scale)
{
    return scale.multiplier <= (uint32_t)INT32_MAX >> (scale.shift == 0 ? 1 : 0);
}

/** Fill one channel; false if 32 bits are not enough. */
static bool fill_channel(struct npu_requant_brick *brick, size_t channel,
                         const struct npu_channel_scale *record, enum npu_rounding rounding,
                         int64_t largest_sum)
{
    /* A shift of 0 has no half; doubling the multiplier and shifting by 1 is equivalent. */
    bool unshifted = record->scale.shift == 0;
    int64_t multiplier = (int64_t)record->scale.multiplier << (unshifted ? 1 : 0);
    unsigned shift = unshifted ? 1 : record->scale.shift;
    bool twice = rounding == NPU_ROUND_DOUBLE && shift > DOUBLE_SHIFT;
    unsigned first = twice ? DOUBLE_SHIFT : shift;
    unsigned second = shift - first;
    int64_t largest = largest_sum + (record->bias < 0 ? -record->bias : record->bias);
    /* Of 31 and 33 bits: the product cannot wrap. */
    if (largest > INT32_MAX || first > 61 ||
        (uint64_t)largest * (uint64_t)(multiplier + 1) > (uint64_t)product_limit ||
        largest * multiplier >> first >= result_limit) {
        return false;
    }
    /* Beyond this the result is 0 anyway, since the value is below result_limit. */
    second = second < SHIFT_MAX ? second : SHIFT_MAX;
    brick->bias[channel] = (int32_t)record->bias;
    brick->multiplier[channel % 2][channel / 2] = multiplier;
    brick->offset[channel % 2][channel / 2] = product_limit + ((int64_t)1 << (first - 1));
    brick->excess[channel] = (int32_t)(uint32_t)(product_limit >> first);
    brick->shift[channel % 2][channel / 2] = first;
    brick->second_half[channel] = second > 0 ? 1 << (second - 1) : 0;
    brick->second_sign[channel] = second > 0 ? -1 : 0;
    brick->second_shift[channel] = (int32_t)second;
    return true;
}

/** Allocate bricks; NULL if the output stage has to use another path. */
static struct npu_requant_brick *get_bricks(struct npu *npu, const struct npu_output *output,
                                            size_t count)
{
    bool activation =
        output->activation == NPU_ACTIVATION_NONE || output->activation == NPU_ACTIVATION_TABLE;
    bool rounding = output->rounding == NPU_ROUND_DOUBLE || output->rounding == NPU_ROUND_NATURAL;
    if (!NPU_FAST_WAYS || !rounding || output->wraps || !output->map.used || !activation ||
        output->map.bits > 16) {
        return NULL;
    }
    struct npu_requant_brick *bricks =
        npu_scratch_get(npu, NPU_BUFFER_REQUANT, count, sizeof *bricks);
    if (bricks != NULL) {
        memset(bricks, 0, count * sizeof *bricks);
    }
    return bricks;
}

bool npu_requant_open_channels(struct npu *npu, struct npu_requant *requant,
                               const struct npu_output *output,
                               const struct npu_channel_scale *scales, unsigned accumulator_bits,
                               int64_t largest_sum)
{
    size_t channels = output->map.depth;
    struct npu_requant_brick *bricks =
        get_bricks(npu, output, (channels + NPU_BRICK - 1) / NPU_BRICK);
    if (bricks == NULL || accumulator_bits != 32) {
        return false;
    }
    bool narrow = true;
    for (size_t c = 0; c < channels; c++) {
        narrow = narrow && is_narrow(scales[c].scale);
        if (!fill_channel(&bricks[c / NPU_BRICK], c % NPU_BRICK, &scales[c], output->rounding,
                          largest_sum)) {
            return false;
        }
    }
    *requant = (struct npu_requant){bricks, output, narrow};
    return true;
}

bool npu_requant_open_all(struct npu *npu, struct npu_requant *requant,
                          const struct npu_output *output, struct npu_scale scale,
                          int64_t largest_sum)
{
    struct npu_requant_brick *bricks = get_bricks(npu, output, 1);
    if (bricks == NULL) {
        return false;
    }
    const struct npu_channel_scale record = {0, scale};
    for (size_t c = 0; c < NPU_BRICK; c++) {
        if (!fill_channel(bricks, c, &record, output->rounding, largest_sum)) {
            return false;
        }
    }
    *requant = (struct npu_requant){bricks, output, is_narrow(scale)};
    return true;
}

/*
 * Compiler vectors, which use the machine's best instructions. Like the whole simulator this
 * requires a little-endian machine: the even channel of a pair is low. Sums are unsigned, since
 * lanes without a channel may hold anything.
 */
typedef uint32_t brick32u_t __attribute__((vector_size(4 * NPU_BRICK)));
typedef int32_t brick32_t __attribute__((vector_size(4 * NPU_BRICK)));
typedef int64_t half64_t __attribute__((vector_size(8 * HALF)));
typedef uint64_t half64u_t __attribute__((vector_size(8 * HALF)));

/** Scale, round, add the zero point and clamp all pixels of a brick. */
NPU_CLONES static void scale_brick(const struct npu_requant_brick *brick,
                                   const struct npu_output *output, size_t pixels, int32_t *values)
{
    const int32_t zero_point = (int32_t)output->zero_point;
    const int32_t minimum = (int32_t)output->minimum;
    const int32_t maximum = (int32_t)output->maximum;
    brick32u_t bias, excess, second_half;
    brick32_t second_sign, second_shift;
    half64u_t multiplier[2], offset[2], shift[2];
    memcpy(&bias, brick->bias, sizeof bias);
    memcpy(multiplier, brick->multiplier, sizeof multiplier);
    memcpy(offset, brick->offset, sizeof offset);
    memcpy(&excess, brick->excess, sizeof excess);
    memcpy(shift, brick->shift, sizeof shift);
    memcpy(&second_half, brick->second_half, sizeof second_half);
    memcpy(&second_sign, brick->second_sign, sizeof second_sign);
    memcpy(&second_shift, brick->second_shift, sizeof second_shift);
    for (size_t p = 0; p < pixels; p++, values += NPU_BRICK) {
        brick32u_t sum;
        memcpy(&sum, values, sizeof sum);
        half64_t pairs = (half64_t)(sum + bias);
        half64u_t even = (half64u_t)((pairs << 32) >> 32) * multiplier[0] + offset[0];
        half64u_t odd = (half64u_t)(pairs >> 32) * multiplier[1] + offset[1];
        even >>= shift[0];
        odd >>= shift[1];
        brick32_t high = (brick32_t)((brick32u_t)((even & UINT32_MAX) | (odd << 32)) - excess);
        /* Half away from zero. */
        brick32u_t away = second_half + (brick32u_t)((high >> 31) & second_sign);
        high = (brick32_t)((brick32u_t)high + away) >> second_shift;
        brick32_t value = (brick32_t)((brick32u_t)high + (uint32_t)zero_point);
        brick32_t low = value < minimum;
        value = (value & ~low) | (minimum & low);
        brick32_t above = value > maximum;
        value = (value & ~above) | (maximum & above);
        memcpy(values, &value, sizeof value);
    }
}

typedef void kernel_t(const struct npu_requant_brick *brick, const struct npu_output *output,
                      size_t pixels, int32_t *values);

/**
 * Without the 64-bit products of AVX-512, compilers do not find AVX2's 32-bit ones by themselves.
 */
static kernel_t *choose_kernel(const struct npu_requant *requant)
{
#ifdef NPU_X86_KERNELS
    if (requant->narrow && !npu_has_avx512() && npu_has_avx2()) {
        return npu_scale_brick_avx2;
    }
#else
    (void)requant;
#endif
    return scale_brick;
}

void npu_requant(const struct npu_requant *requant, size_t brick, size_t pixels, int32_t *sums)
{
    const struct npu_output *output = requant->output;
    choose_kernel(requant)(&requant->bricks[brick], output, pixels, sums);
    if (output->activation == NPU_ACTIVATION_TABLE) {
        for (size_t i = 0; i < pixels * NPU_BRICK; i++) {
            uint32_t index = (uint32_t)(sums[i] - (int32_t)output->table_origin);
            sums[i] = output->form->look_up(output->table, index);
        }
    }
}
