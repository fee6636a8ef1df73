// SPDX-License-Identifier: MIT
/** NPU_OP_POOL: pooling of windows channel by channel, and the sum over all channels. */
#include <inttypes.h>
#include <string.h>

#include "arithmetic/dot.h"
#include "arithmetic/requant.h"
#include "core/clones.h"
#include "core/npu_internal.h"
#include "operands/operation.h"
#include "operands/window.h"

enum pool_mode {
    POOL_MAX = 0,
    POOL_AVERAGE = 1,
    POOL_REDUCE_SUM = 2,
    /* The following ones are Ethos-U85 only. */
    POOL_SUM = 3,
    POOL_NONE = 4,
    POOL_MIN = 5,
    POOL_ARGMAX_X = 6,
    POOL_ARGMAX_Y = 7,
};

/** State specific to POOL. */
struct pool_decoded {
    enum pool_mode mode;
    bool divide; /**< divide by the number of elements that are not padding */
};
_Static_assert(sizeof(struct pool_decoded) <= NPU_DECODED_MAX, "fits into struct npu_op");

struct pool {
    const struct npu_op *op;
    struct pool_decoded decoded;
    struct npu_kernel_window window;
    struct npu_accumulator_rows accumulators;
    const struct npu_channel_scale *channel_scales; /**< NULL if all channels share one scale */
    uint32_t taps;
    bool quick; /**< all taps count, all sums fit 32 bits and requant is exact */
    struct npu_requant requant;
};

/** A pixel of the OFM, and the taps of its window that are not padding. */
struct pixel {
    uint32_t oy, ox;
    struct npu_taps down, across;
};

/** Add a window's elements to acc. */
static void sum_window(const struct npu_kernel_window *window, const struct pixel *at, int64_t *acc)
{
    size_t depth = window->ifm->depth;
    for (uint32_t ky = at->down.first; ky < at->down.last; ky++) {
        const int32_t *row = npu_kernel_window_row(window, at->oy, ky);
        for (uint32_t kx = at->across.first; kx < at->across.last; kx++) {
            const int32_t *input = row + npu_kernel_window_offset(window, at->ox, kx);
            for (size_t c = 0; c < depth; c++) {
                acc[c] += input[c];
            }
        }
    }
}

/** Sum all elements of a window over all channels. */
static void sum_channels(const struct npu_kernel_window *window, const struct pixel *at,
                         int64_t *acc)
{
    size_t depth = window->ifm->depth;
    for (uint32_t ky = at->down.first; ky < at->down.last; ky++) {
        const int32_t *row = npu_kernel_window_row(window, at->oy, ky);
        for (uint32_t kx = at->across.first; kx < at->across.last; kx++) {
            const int32_t *input = row + npu_kernel_window_offset(window, at->ox, kx);
            for (size_t c = 0; c < depth; c++) {
                *acc += input[c];
            }
        }
    }
}

/**
 * The maximum (sign 1) or minimum (sign -1) element, also of `acc` if it was kept. Vela computes
 * MAX_POOL_2D of Ethos-U85 with strides over 3 so: one operation per element of the kernel.
 */
static void extreme_of_window(const struct pool *pool, const struct pixel *at, int64_t sign,
                              int64_t *acc)
{
    const struct npu_kernel_window *window = &pool->window;
    size_t depth = window->ifm->depth;
    int64_t worst = sign > 0 ? npu_map_minimum(window->ifm) : npu_map_maximum(window->ifm);
    bool kept = pool->op->accumulators.input == NPU_ACC_KEEP;
    for (size_t c = 0; c < depth && !kept; c++) {
        acc[c] = worst - window->ifm->zero_point;
    }
    for (uint32_t ky = at->down.first; ky < at->down.last; ky++) {
        const int32_t *row = npu_kernel_window_row(window, at->oy, ky);
        for (uint32_t kx = at->across.first; kx < at->across.last; kx++) {
            const int32_t *input = row + npu_kernel_window_offset(window, at->ox, kx);
            for (size_t c = 0; c < depth; c++) {
                acc[c] = sign * input[c] > sign * acc[c] ? input[c] : acc[c];
            }
        }
    }
}

/** Position of the first maximum along one axis. */
static void position_of_maximum(const struct npu_kernel_window *window, const struct pixel *at,
                                bool down, int64_t *acc)
{
    size_t depth = window->ifm->depth;
    for (size_t c = 0; c < depth; c++) {
        int64_t greatest = INT64_MIN;
        acc[c] = 0;
        for (uint32_t ky = at->down.first; ky < at->down.last; ky++) {
            const int32_t *row = npu_kernel_window_row(window, at->oy, ky);
            for (uint32_t kx = at->across.first; kx < at->across.last; kx++) {
                int32_t input = row[npu_kernel_window_offset(window, at->ox, kx) + c];
                if (input > greatest) {
                    greatest = input;
                    acc[c] = down ? ky : kx;
                }
            }
        }
    }
}

/** 1 / count as a scale, computed like the hardware does. */
static struct npu_scale reciprocal(uint32_t count)
{
    unsigned bits = 0;
    while (((uint64_t)1 << bits) < count) {
        bits++;
    }
    uint64_t numerator = ((uint64_t)1 << (31 + bits)) + ((uint64_t)1 << bits);
    return (struct npu_scale){(uint32_t)(numerator / count), (uint8_t)(31 + bits)};
}

/** Accumulators of one pixel, [OFM depth]; preset with their start values in summing modes. */
static void gather_pixel(const struct pool *pool, const struct pixel *at, int64_t *acc)
{
    switch (pool->decoded.mode) {
    case POOL_MAX:
        extreme_of_window(pool, at, 1, acc);
        break;
    case POOL_MIN:
        extreme_of_window(pool, at, -1, acc);
        break;
    case POOL_REDUCE_SUM:
        sum_channels(&pool->window, at, acc);
        break;
    case POOL_ARGMAX_X:
    case POOL_ARGMAX_Y:
        position_of_maximum(&pool->window, at, pool->decoded.mode == POOL_ARGMAX_Y, acc);
        break;
    case POOL_NONE:
        break;
    default:
        sum_window(&pool->window, at, acc);
        break;
    }
}

/** Pool one pixel, and divide it if the mode requires it. */
static void pool_pixel(const struct pool *pool, uint32_t oy, uint32_t ox, int64_t *acc)
{
    struct pixel at = {oy, ox, npu_kernel_window_taps_y(&pool->window, oy),
                       npu_kernel_window_taps_x(&pool->window, ox)};
    uint32_t count = (at.down.last - at.down.first) * (at.across.last - at.across.first);
    gather_pixel(pool, &at, acc);
    if (pool->decoded.divide && count > 0) {
        npu_scale_all(acc, pool->op->output.map.depth, reciprocal(count),
                      pool->op->output.rounding);
    }
}

/** Maximum over all taps; parameters as for npu_dot_depthwise(). */
NPU_CLONES static void maximum_of_taps(const int16_t *const *inputs, uint32_t taps, size_t first,
                                       size_t pixel_step, uint32_t pixels, int32_t *sums)
{
    for (uint32_t p = 0; p < pixels; p++, sums += NPU_BRICK) {
        int16_t largest[NPU_BRICK];
        memcpy(largest, inputs[0] + p * pixel_step + first, sizeof largest);
        for (uint32_t tap = 1; tap < taps; tap++) {
            const int16_t *input = inputs[tap] + p * pixel_step + first;
            for (int c = 0; c < NPU_BRICK; c++) {
                largest[c] = input[c] > largest[c] ? input[c] : largest[c];
            }
        }
        for (int c = 0; c < NPU_BRICK; c++) {
            sums[c] = largest[c];
        }
    }
}

static const int16_t ones[NPU_BRICK] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

/** A row of a kernel of one tap, whose few channels do not fill a brick: all its elements alike. */
static bool write_elements(struct npu *npu, const struct pool *pool, uint32_t oy, int32_t *sums)
{
    const struct npu_feature_map *ofm = &pool->op->output.map;
    const int16_t *row = npu_kernel_window_row(&pool->window, oy, 0);
    size_t bricks = ((size_t)ofm->width * ofm->depth + NPU_BRICK - 1) / NPU_BRICK;
    npu_dot_depthwise(&row, 1, 0, NPU_BRICK, ones, 0, (uint32_t)bricks, sums);
    npu_requant(&pool->requant, bricks, sums);
    return !npu_should_abort(npu) && npu_write_pixels(npu, ofm, oy, 0, ofm->width, sums);
}

static bool write_row_quickly(struct npu *npu, const struct pool *pool, uint32_t oy,
                              const int16_t **inputs, int32_t *sums)
{
    const struct npu_feature_map *ofm = &pool->op->output.map;
    size_t pixel_step = npu_kernel_window_offset(&pool->window, 1, 0);
    for (uint32_t ox = 0; ox < ofm->width;) {
        struct npu_span span;
        if (!npu_open_pixels(npu, ofm, oy, ox, ofm->width - ox, &span)) {
            return false;
        }
        npu_kernel_window_inputs(&pool->window, oy, ox, inputs);
        for (size_t first = 0; first < ofm->depth; first += NPU_BRICK) {
            if (npu_should_abort(npu)) {
                return false;
            }
            if (pool->decoded.mode == POOL_MAX) {
                maximum_of_taps(inputs, pool->taps, first, pixel_step, span.pixels, sums);
            } else {
                npu_dot_depthwise(inputs, pool->taps, first, pixel_step, ones, 0, span.pixels,
                                  sums);
            }
            npu_requant_store(&pool->requant, &span, first / NPU_BRICK, sums);
        }
        ox += span.pixels;
    }
    return true;
}

static bool run_rows_quickly(struct npu *npu, struct pool *pool)
{
    const struct npu_feature_map *ofm = &pool->op->output.map;
    int32_t *sums = npu_scratch_get(npu, NPU_BUFFER_SUMS, ofm->width, NPU_BRICK * sizeof *sums);
    const int16_t **inputs = npu_scratch_get(npu, NPU_BUFFER_RUNS, pool->taps, sizeof *inputs);
    if (sums == NULL || inputs == NULL) {
        return false;
    }
    bool elements = npu_kernel_maps_pixels(&pool->op->kernel) && ofm->depth < NPU_BRICK;
    for (uint32_t oy = 0; oy < ofm->height; oy++) {
        if (!npu_kernel_window_advance(npu, &pool->window, oy) ||
            !(elements ? write_elements(npu, pool, oy, sums)
                       : write_row_quickly(npu, pool, oy, inputs, sums))) {
            return false;
        }
    }
    return true;
}

/** One row by the exact path, which supports every pool. */
static bool run_row(struct npu *npu, const struct pool *pool, uint32_t oy, int64_t *acc)
{
    const struct npu_feature_map *ofm = &pool->op->output.map;
    if (!npu_accumulators_start(npu, &pool->accumulators, oy, 0, ofm->width, acc)) {
        return false;
    }
    for (uint32_t ox = 0; ox < ofm->width && pool->decoded.mode != POOL_NONE; ox++) {
        if (npu_should_abort(npu)) {
            return false;
        }
        pool_pixel(pool, oy, ox, acc + (size_t)ox * ofm->depth);
    }
    if (npu_accumulators_leave(&pool->accumulators, oy, 0, ofm->width, acc)) {
        return true;
    }
    if (pool->channel_scales != NULL) {
        npu_scale_channels(acc, ofm->width, ofm->depth, pool->channel_scales,
                           pool->op->accumulators.bits, pool->op->output.rounding);
    } else {
        npu_scale_all(acc, (size_t)ofm->width * ofm->depth, pool->op->scale,
                      pool->op->output.rounding);
    }
    return npu_output_write(npu, &pool->op->output, oy, 0, ofm->width, acc);
}

static bool run_rows(struct npu *npu, struct pool *pool)
{
    const struct npu_feature_map *ofm = &pool->op->output.map;
    int64_t *acc = npu_scratch_get(npu, NPU_BUFFER_ACC, ofm->width, ofm->depth * sizeof *acc);
    bool reads = pool->decoded.mode != POOL_NONE;
    if (acc == NULL) {
        return false;
    }
    for (uint32_t oy = 0; oy < ofm->height; oy++) {
        if (npu_should_abort(npu) ||
            (reads && !npu_kernel_window_advance(npu, &pool->window, oy)) ||
            !run_row(npu, pool, oy, acc)) {
            return false;
        }
    }
    return true;
}

/** Compute whole bricks of channels if every tap counts and all sums fit 32 bits. */
static void choose_way(struct npu *npu, struct pool *pool)
{
    const struct npu_op *op = pool->op;
    bool maximum = pool->decoded.mode == POOL_MAX;
    bool sums = pool->decoded.mode == POOL_AVERAGE || pool->decoded.mode == POOL_SUM;
    if (!(maximum ? !op->kernel.padded : sums) || pool->decoded.divide || op->scales.count != 0 ||
        !npu_map_fits_16(&op->ifm) || !npu_accumulators_plain(&op->accumulators)) {
        return;
    }
    int64_t largest = npu_map_largest(&op->ifm) * (maximum ? 1 : pool->taps);
    pool->quick = npu_requant_open_all(npu, &pool->requant, &op->output, op->scale, largest);
}

static bool execute(struct npu *npu, const struct npu_op *op)
{
    struct pool pool = {
        .op = op,
        .decoded = *(const struct pool_decoded *)op->decoded,
        .taps = npu_kernel_taps(&op->kernel),
    };
    if (op->scales.count != 0) {
        struct npu_scale_records records;
        if (!npu_scales_map(npu, op, &records)) {
            return false;
        }
        pool.channel_scales = npu_scales_decode(npu, op, &records);
        if (pool.channel_scales == NULL) {
            return false;
        }
    }
    choose_way(npu, &pool);
    if (!npu_accumulators_open(npu, op, &pool.accumulators) ||
        !npu_kernel_window_open(npu, &op->kernel, &op->ifm, pool.quick ? NPU_ROW_16 : NPU_ROW_32,
                                &pool.window)) {
        return false;
    }
    return pool.quick ? run_rows_quickly(npu, &pool) : run_rows(npu, &pool);
}

/**
 * Use of OFM_SCALE by mode; see README.md for the source. U55 and U65 do not scale a maximum.
 * Averages divided by the number of non-padding elements are not scaled: all of them on U85, those
 * of a padded IFM on U55 and U65.
 */
static bool decode_scale(struct npu *npu, struct npu_op *op, struct pool_decoded *decoded)
{
    bool pool_scales = npu->product->family->pool_scales;
    bool average = decoded->mode == POOL_AVERAGE;
    decoded->divide = average && (pool_scales || op->kernel.padded || !op->output.global_scale);
    if (!op->output.global_scale && decoded->mode == POOL_REDUCE_SUM) {
        return npu_fail(npu, NPU_FAULT_PARSE, "REDUCE_SUM without OFM_SCALE is not supported");
    }
    if (!op->output.global_scale) {
        return !pool_scales || npu_decode_scales(npu, op);
    }
    bool maximum = decoded->mode == POOL_MAX && !pool_scales;
    return maximum || decoded->divide || npu_decode_ofm_scale(npu, &op->scale);
}

/**
 * The accumulator of ARGMAX has the position from bit 16 on; the bits below are unknown, so
 * OFM_SCALE must extract exactly the position. acc holds only the position.
 */
static bool decode_position(struct npu *npu, struct npu_op *op)
{
    bool alone = op->scale.multiplier == 1 && op->scale.shift == 16 &&
                 op->output.rounding == NPU_ROUND_DOWN && op->scales.count == 0;
    op->scale.shift = 0;
    if (alone) {
        return true;
    }
    return npu_fail(npu, NPU_FAULT_PARSE, "ARGMAX scale is not 1 >> 16");
}

/**
 * Accumulators of 48 bits take multipliers of 15 bits per channel. With a larger OFM_SCALE, which
 * only Vela 5.0 writes, for REDUCE_SUM, Arm's model gives zeros; see README.md.
 */
static bool check_wide(struct npu *npu, const struct npu_op *op, const struct pool_decoded *decoded)
{
    const struct npu_scale_layout *layout = &npu->product->family->scales[1];
    bool sums = decoded->mode == POOL_REDUCE_SUM;
    bool wide = npu->product->family->pool_scales && op->accumulators.bits == 48;
    if (!wide || (!sums && op->scale.multiplier >> layout->multiplier_bits == 0)) {
        return true;
    }
    return npu_fail(npu, NPU_FAULT_PARSE,
                    "%s in 48 bits with OFM_SCALE %" PRIu32
                    ": Arm's model gives zeros (Vela's issue 23); Vela 5.1 and later write another "
                    "ACC_FORMAT",
                    sums ? "REDUCE_SUM" : "sums", op->scale.multiplier);
}

/** The accumulators that a mode may begin with, a bit for each; ARGMAX may not leave any either. */
static const uint8_t begins_with[] = {
    [POOL_MAX] = 1 << NPU_ACC_RESET | 1 << NPU_ACC_KEEP,
    [POOL_AVERAGE] = 1 << NPU_ACC_RESET | 1 << NPU_ACC_KEEP | 1 << NPU_ACC_IFM2,
    [POOL_REDUCE_SUM] = 1 << NPU_ACC_RESET | 1 << NPU_ACC_KEEP | 1 << NPU_ACC_IFM2,
    [POOL_SUM] = 1 << NPU_ACC_RESET | 1 << NPU_ACC_KEEP | 1 << NPU_ACC_IFM2,
    [POOL_NONE] = 1 << NPU_ACC_KEEP | 1 << NPU_ACC_IFM2,
    [POOL_MIN] = 1 << NPU_ACC_RESET | 1 << NPU_ACC_KEEP,
    [POOL_ARGMAX_X] = 1 << NPU_ACC_RESET,
    [POOL_ARGMAX_Y] = 1 << NPU_ACC_RESET,
};

/** Check the mode's requirements on the registers. */
static bool check_mode(struct npu *npu, const struct npu_op *op, enum pool_mode mode)
{
    uint32_t ofm_depth = op->output.map.depth;
    bool fits = (begins_with[mode] >> op->accumulators.input & 1) != 0;
    bool positions = mode == POOL_ARGMAX_X || mode == POOL_ARGMAX_Y;
    if (ofm_depth != (mode == POOL_REDUCE_SUM ? 1 : op->ifm.depth)) {
        return npu_fail(npu, NPU_FAULT_PARSE, "has IFM depth %u but OFM depth %u",
                        (unsigned)op->ifm.depth, (unsigned)ofm_depth);
    }
    if (fits && !(positions && op->accumulators.leave)) {
        return true;
    }
    return npu_fail(npu, NPU_FAULT_PARSE, "of mode %u has accumulators of input %u", (unsigned)mode,
                    (unsigned)op->accumulators.input);
}

static bool decode(struct npu *npu, struct npu_op *op)
{
    struct pool_decoded *decoded = npu_new_decoded(op, sizeof *decoded);
    decoded->mode = (enum pool_mode)op->param;
    if (op->param >= npu->product->family->pool_modes) {
        return npu_fail(npu, NPU_FAULT_PARSE, "has mode %u", (unsigned)op->param);
    }
    if (!npu_decode_output(npu, op) || !npu_decode_kernel(npu, op) ||
        !npu_decode_accumulators(npu, op) || !check_mode(npu, op, decoded->mode) ||
        !decode_scale(npu, op, decoded) || !check_wide(npu, op, decoded)) {
        return false;
    }
    op->spans_depth = decoded->mode == POOL_REDUCE_SUM;
    op->output_class = decoded->mode == POOL_MAX ? NPU_OUTPUT_MAX_POOL : NPU_OUTPUT_OTHER;
    if (decoded->mode == POOL_NONE) {
        /* Its input is IFM2 or the kept accumulators. */
        op->ifm = (struct npu_feature_map){.bits = op->ifm2.bits};
    }
    bool positions = decoded->mode == POOL_ARGMAX_X || decoded->mode == POOL_ARGMAX_Y;
    return !positions || decode_position(npu, op);
}

const struct npu_operator npu_pool = {decode, execute};
