// SPDX-License-Identifier: MIT
/** The output stage of 8-bit operations, in 32 bits. */
#include "arithmetic/requant.h"

#include <string.h>

#include "arithmetic/dot_x86.h"
#include "core/clones.h"
#include "core/npu_internal.h"
#include "core/op.h"

enum {
    DOUBLE_SHIFT = 31, /**< bit at which double rounding splits the shift */
    FRACTION = 32,     /**< bits of a fraction */
    SHIFT_MAX = 31,    /**< of 32-bit values */
    HALF = NPU_REQUANT_HALF,
    BYTE_ZERO_MAX = 256, /**< a zero point that saturated 16-bit values can take */
};

static int64_t magnitude(int64_t value)
{
    return value < 0 ? -value : value;
}

/** A scale, as the sum of an integer and a fraction, for sums up to a certain magnitude. */
struct factor {
    uint32_t whole;
    uint32_t fraction;
    uint64_t rounding;  /**< in units of the product with the fraction */
    unsigned remaining; /**< bits to shift after the product's upper 32 bits */
};

/** Split multiplier / 2^shift, which rounds to nearest. */
static struct factor split(uint32_t multiplier, unsigned shift, int64_t largest)
{
    unsigned up = shift < FRACTION ? FRACTION - shift : 0;
    uint64_t scaled = (uint64_t)multiplier << up;
    struct factor factor = {
        .whole = (uint32_t)(scaled >> FRACTION),
        .fraction = (uint32_t)scaled,
        .remaining = shift > FRACTION ? shift - FRACTION : 0,
    };
    factor.rounding = shift == 0 ? 0 : (uint64_t)1 << (FRACTION - 1 + factor.remaining);
    /* A part that never reaches one half is nothing: 0x80000001 / 2^31 is Vela's 1. */
    if (factor.remaining == 0 && (uint64_t)largest * factor.fraction < factor.rounding) {
        factor.fraction = 0;
    }
    return factor;
}

/** Fill one channel; false if 32 bits are not enough. */
static bool fill_channel(struct npu_requant_brick *brick, size_t channel,
                         const struct npu_channel_scale *record, const struct npu_output *output,
                         int64_t largest_sum, struct npu_requant_parts *parts)
{
    unsigned shift = record->scale.shift;
    bool twice = output->rounding == NPU_ROUND_DOUBLE && shift > DOUBLE_SHIFT;
    unsigned second = twice ? shift - DOUBLE_SHIFT : 0;
    int64_t largest = largest_sum + magnitude(record->bias);
    if (largest > INT32_MAX) {
        return false;
    }
    struct factor factor = split(record->scale.multiplier, shift - second, largest);
    /* Of 31 and 32 bits: the product cannot wrap. */
    uint64_t product = (uint64_t)largest * factor.fraction + factor.rounding;
    uint64_t high = (uint64_t)largest * factor.whole + (product >> FRACTION) + 1;
    /* Beyond this the result is 0 anyway, since high and second_half fit. */
    second = second < SHIFT_MAX ? second : SHIFT_MAX;
    uint64_t second_half = second > 0 ? (uint64_t)1 << (second - 1) : 0;
    uint64_t zero_point = (uint64_t)magnitude(output->zero_point);
    if (product > INT64_MAX || high + second_half > INT32_MAX || high + zero_point > INT32_MAX) {
        return false;
    }
    uint64_t offset = factor.rounding - ((uint64_t)factor.fraction << (FRACTION - 1));
    brick->bias[channel] = (uint32_t)record->bias + ((uint32_t)1 << (FRACTION - 1));
    brick->whole[channel] = factor.whole;
    brick->fraction[channel % 2][channel / 2] = factor.fraction;
    brick->offset[channel % 2][channel / 2] = offset;
    brick->second_half[channel] = (int32_t)second_half;
    brick->second_sign[channel] = second > 0 ? -1 : 0;
    brick->second_shift[channel] = (int32_t)(second + factor.remaining);
    parts->whole = parts->whole || factor.whole != 0;
    parts->fraction = parts->fraction || factor.fraction != 0;
    parts->second = parts->second || brick->second_shift[channel] != 0;
    uint64_t before = zero_point << brick->second_shift[channel];
    parts->apart = parts->apart || high + second_half + before > INT32_MAX;
    return true;
}

static npu_scale_brick_t *choose_kernel(void);

/** Begin, without bricks; false if the output stage has to use another path. */
static bool start(struct npu_requant *requant, const struct npu_output *output)
{
    bool none = output->activation == NPU_ACTIVATION_NONE;
    bool activation = none || output->activation == NPU_ACTIVATION_TABLE;
    bool rounding = output->rounding == NPU_ROUND_DOUBLE || output->rounding == NPU_ROUND_NATURAL;
    bool bytes = none && output->map.bits == 8 && magnitude(output->zero_point) <= BYTE_ZERO_MAX;
    *requant = (struct npu_requant){
        .output = output,
        .zero_point = (int32_t)output->zero_point,
        .minimum = (int32_t)output->minimum,
        .maximum = (int32_t)output->maximum,
        .scale = choose_kernel(),
        .bytes = bytes,
    };
    return NPU_FAST_WAYS && rounding && !output->wraps && output->map.used && activation &&
           output->map.bits <= 16;
}

/** Fill the bricks of some channels, which have a scale each or all the same. */
static bool fill_bricks(struct npu_requant_brick *bricks, size_t channels,
                        const struct npu_channel_scale *scales, size_t step,
                        const struct npu_output *output, int64_t largest_sum,
                        struct npu_requant_parts *parts)
{
    memset(bricks, 0, (channels + NPU_BRICK - 1) / NPU_BRICK * sizeof *bricks);
    for (size_t c = 0; c < channels; c++) {
        if (!fill_channel(&bricks[c / NPU_BRICK], c % NPU_BRICK, &scales[c * step], output,
                          largest_sum, parts)) {
            return false;
        }
    }
    return true;
}

/** Scales that are kept with the weights, and what they were computed from. */
struct kept {
    struct npu_requant_parts parts;
    bool exact;
    int64_t largest_sum, zero_point;
    enum npu_rounding rounding;
    uint32_t channels;
    struct npu_scale scale;
    struct npu_scale_streams streams;
    _Alignas(64) struct npu_requant_brick bricks[]; /**< followed by the records */
};

static size_t brick_count(const struct npu_op *op)
{
    return ((size_t)op->output.map.depth + NPU_BRICK - 1) / NPU_BRICK;
}

static uint8_t *kept_records(struct kept *kept, const struct npu_op *op)
{
    return (uint8_t *)(kept->bricks + brick_count(op));
}

/** Were they computed from the same values? */
static bool is_same(struct kept *kept, const struct npu_op *op,
                    const struct npu_scale_records *records, int64_t largest_sum)
{
    if (kept == NULL || kept->channels != op->output.map.depth ||
        kept->largest_sum != largest_sum || kept->zero_point != op->output.zero_point ||
        kept->rounding != op->output.rounding || kept->scale.multiplier != op->scale.multiplier ||
        kept->scale.shift != op->scale.shift || kept->streams.count != op->scales.count ||
        kept->streams.layout != op->scales.layout) {
        return false;
    }
    const uint8_t *copy = kept_records(kept, op);
    for (uint32_t core = 0; core < op->scales.count; core++) {
        size_t bytes = npu_scales_bytes(op, core);
        if (bytes > 0 && memcmp(copy, records->records[core], bytes) != 0) {
            return false;
        }
        copy += bytes;
    }
    return true;
}

/** Memory for them, with all that they are computed from; NULL if there is none. */
static struct kept *new_kept(struct npu *npu, const struct npu_op *op,
                             const struct npu_scale_records *records, struct npu_weights *weights,
                             int64_t largest_sum)
{
    size_t bytes = sizeof(struct kept) + brick_count(op) * sizeof(struct npu_requant_brick);
    for (uint32_t core = 0; core < op->scales.count; core++) {
        bytes += npu_scales_bytes(op, core);
    }
    struct kept *kept = weights == NULL ? npu_scratch_get(npu, NPU_BUFFER_REQUANT, 1, bytes)
                                        : npu_cache_requant(&npu->weights, weights, bytes);
    if (kept == NULL) {
        return NULL;
    }
    *kept = (struct kept){.largest_sum = largest_sum,
                          .zero_point = op->output.zero_point,
                          .rounding = op->output.rounding,
                          .channels = op->output.map.depth,
                          .scale = op->scale,
                          .streams = op->scales};
    uint8_t *copy = kept_records(kept, op);
    for (uint32_t core = 0; core < op->scales.count; core++) {
        size_t size = npu_scales_bytes(op, core);
        if (size > 0) {
            memcpy(copy, records->records[core], size);
        }
        copy += size;
    }
    return kept;
}

bool npu_requant_open_channels(struct npu *npu, struct npu_requant *requant,
                               const struct npu_op *op, const struct npu_scale_records *records,
                               struct npu_weights *weights, int64_t largest_sum)
{
    if (!start(requant, &op->output) || op->accumulators.bits != 32) {
        return false;
    }
    struct kept *kept = weights == NULL ? NULL : weights->requant;
    if (!is_same(kept, op, records, largest_sum)) {
        const struct npu_channel_scale *scales = npu_scales_decode(npu, op, records);
        kept = new_kept(npu, op, records, weights, largest_sum);
        if (scales == NULL || kept == NULL) {
            return false;
        }
        kept->exact = fill_bricks(kept->bricks, op->output.map.depth, scales, 1, &op->output,
                                  largest_sum, &kept->parts);
    }
    requant->bricks = kept->bricks;
    requant->brick_step = 1;
    requant->parts = kept->parts;
    return kept->exact;
}

bool npu_requant_open_all(struct npu *npu, struct npu_requant *requant,
                          const struct npu_output *output, struct npu_scale scale,
                          int64_t largest_sum)
{
    struct npu_requant_brick *brick = NULL;
    if (start(requant, output)) {
        brick = npu_scratch_get(npu, NPU_BUFFER_REQUANT, 1, sizeof *brick);
    }
    requant->bricks = brick;
    const struct npu_channel_scale record = {0, scale};
    return brick != NULL &&
           fill_bricks(brick, NPU_BRICK, &record, 0, output, largest_sum, &requant->parts);
}

/*
 * Compiler vectors, which use the machine's best instructions. Like the whole simulator this
 * requires a little-endian machine: the even channel of a pair is low. Sums are unsigned, since
 * lanes without a channel may hold anything.
 */
typedef uint8_t brick8u_t __attribute__((vector_size(NPU_BRICK)));
typedef uint32_t brick32u_t __attribute__((vector_size(4 * NPU_BRICK)));
typedef int32_t brick32_t __attribute__((vector_size(4 * NPU_BRICK)));
typedef uint64_t half64u_t __attribute__((vector_size(8 * HALF)));

static void scale_brick(const struct npu_requant *requant, const struct npu_requant_brick *brick,
                        size_t pixels, int32_t *values, uint8_t *out, int64_t out_step,
                        size_t channels)
{
    const int32_t zero_point = requant->zero_point;
    const int32_t minimum = requant->minimum;
    const int32_t maximum = requant->maximum;
    brick32u_t bias, whole, second_half;
    brick32_t second_sign, second_shift;
    half64u_t fraction[2], offset[2];
    memcpy(&bias, brick->bias, sizeof bias);
    memcpy(&whole, brick->whole, sizeof whole);
    memcpy(fraction, brick->fraction, sizeof fraction);
    memcpy(offset, brick->offset, sizeof offset);
    memcpy(&second_half, brick->second_half, sizeof second_half);
    memcpy(&second_sign, brick->second_sign, sizeof second_sign);
    memcpy(&second_shift, brick->second_shift, sizeof second_shift);
    for (size_t p = 0; p < pixels; p++, values += NPU_BRICK) {
        brick32u_t sum;
        memcpy(&sum, values, sizeof sum);
        sum += bias;
        brick32_t high = {0};
        if (requant->parts.fraction) {
            half64u_t pairs = (half64u_t)sum;
            half64u_t even = (pairs & UINT32_MAX) * fraction[0] + offset[0];
            half64u_t odd = (pairs >> 32) * fraction[1] + offset[1];
            high = (brick32_t)((even >> 32) | (odd & ~(uint64_t)UINT32_MAX));
        }
        if (requant->parts.whole) {
            high = (brick32_t)((brick32u_t)high + (sum ^ 0x80000000) * whole);
        }
        if (requant->parts.second) {
            /* Half away from zero. */
            brick32u_t away = second_half + (brick32u_t)((high >> 31) & second_sign);
            high = (brick32_t)((brick32u_t)high + away) >> second_shift;
        }
        brick32_t value = (brick32_t)((brick32u_t)high + (uint32_t)zero_point);
        brick32_t low = value < minimum;
        value = (value & ~low) | (minimum & low);
        brick32_t above = value > maximum;
        value = (value & ~above) | (maximum & above);
        if (out == NULL) {
            memcpy(values, &value, sizeof value);
            continue;
        }
        brick8u_t bytes = __builtin_convertvector(value, brick8u_t);
        if (channels == NPU_BRICK) {
            memcpy(out, &bytes, sizeof bytes);
        } else {
            memcpy(out, &bytes, channels);
        }
        out += out_step;
    }
}

/** Compilers do not find the products of AVX2 and NEON, of 32 bits each, in vectors of 64 bits. */
static npu_scale_brick_t *choose_kernel(void)
{
#ifdef NPU_NEON_KERNELS
    return npu_scale_brick_neon;
#endif
#ifdef NPU_X86_KERNELS
    if (npu_has_avx512()) {
        return npu_scale_brick_avx512;
    }
    if (npu_has_avx2()) {
        return npu_scale_brick_avx2;
    }
#endif
    return scale_brick;
}

/** Replace all values by the table's, if there is a table. */
static void look_up(const struct npu_output *output, size_t count, int32_t *values)
{
    for (size_t i = 0; i < count && output->activation == NPU_ACTIVATION_TABLE; i++) {
        uint32_t index = (uint32_t)(values[i] - (int32_t)output->table_origin);
        values[i] = output->form->look_up(output->table, index);
    }
}

void npu_requant(const struct npu_requant *requant, size_t count, int32_t *sums)
{
    requant->scale(requant, requant->bricks, count, sums, NULL, 0, 0);
    look_up(requant->output, count * NPU_BRICK, sums);
}

void npu_requant_store(const struct npu_requant *requant, const struct npu_span *span, size_t brick,
                       int32_t *sums)
{
    const struct npu_feature_map *map = &requant->output->map;
    const struct npu_requant_brick *values = requant->bricks + brick * requant->brick_step;
    if (requant->bytes) {
        size_t rest = map->depth - brick * NPU_BRICK;
        requant->scale(requant, values, span->pixels, sums,
                       span->memory + (int64_t)brick * span->brick_step, span->pixel_step,
                       rest < NPU_BRICK ? rest : NPU_BRICK);
        return;
    }
    requant->scale(requant, values, span->pixels, sums, NULL, 0, 0);
    look_up(requant->output, (size_t)span->pixels * NPU_BRICK, sums);
    npu_store_brick(map, span, brick, sums);
}
