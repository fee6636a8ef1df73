// SPDX-License-Identifier: MIT
/** NPU_OP_POOL: what a window holds, channel by channel, and the sum over all channels. */
#include <string.h>

#include "accumulators.h"
#include "clones.h"
#include "dot.h"
#include "npu_internal.h"
#include "operation.h"
#include "output.h"
#include "requant.h"
#include "weights.h"
#include "window.h"

enum pool_mode {
    POOL_MAX = 0,
    POOL_AVERAGE = 1,
    POOL_REDUCE_SUM = 2,
    /* Only Ethos-U85 has the rest. */
    POOL_SUM = 3,
    POOL_NONE = 4,
    POOL_MIN = 5,
    POOL_ARGMAX_X = 6,
    POOL_ARGMAX_Y = 7,
};

enum { OLD_MODES = POOL_SUM };

struct pool {
    enum pool_mode mode;
    struct npu_output output;
    struct npu_kernel_window window;
    struct npu_accumulators accumulators;
    struct npu_scale scale;
    const struct npu_channel_scale *channel_scales; /**< NULL: one scale for all */
    bool divide; /**< average by the number of elements that are not padding */
    uint32_t taps;
    bool quick; /**< all taps count, all sums fit 32 bits and requant is exact */
    struct npu_requant requant;
};

/** A pixel of the OFM, and the taps of its window that are not padding. */
struct place {
    uint32_t oy, ox;
    struct npu_taps down, across;
};

/** Add a window's elements up, on top of what acc holds. */
static void sum_window(const struct npu_kernel_window *window, const struct place *at, int64_t *acc)
{
    size_t depth = window->ifm.depth;
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

/** Add all elements of a window up, of all channels. */
static void sum_channels(const struct npu_kernel_window *window, const struct place *at,
                         int64_t *acc)
{
    size_t depth = window->ifm.depth;
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

/** The greatest element (sign 1) or the least (sign -1). */
static void extreme_of_window(const struct npu_kernel_window *window, const struct place *at,
                              int64_t sign, int64_t *acc)
{
    size_t depth = window->ifm.depth;
    int64_t worst = sign > 0 ? npu_map_minimum(&window->ifm) : npu_map_maximum(&window->ifm);
    for (size_t c = 0; c < depth; c++) {
        acc[c] = worst - window->ifm.zero_point;
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

/** Which tap is the first of the greatest, counted along one axis. */
static void place_of_maximum(const struct npu_kernel_window *window, const struct place *at,
                             bool down, int64_t *acc)
{
    size_t depth = window->ifm.depth;
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

/** 1 / count as a scale, the way the hardware computes it. */
static struct npu_scale reciprocal(uint32_t count)
{
    unsigned bits = 0;
    while (((uint64_t)1 << bits) < count) {
        bits++;
    }
    uint64_t numerator = ((uint64_t)1 << (31 + bits)) + ((uint64_t)1 << bits);
    return (struct npu_scale){(uint32_t)(numerator / count), (uint8_t)(31 + bits)};
}

/** One pixel's accumulators, [OFM depth]; those that sum have their start values. */
static void gather_pixel(const struct pool *pool, const struct place *at, int64_t *acc)
{
    switch (pool->mode) {
    case POOL_MAX:
        extreme_of_window(&pool->window, at, 1, acc);
        break;
    case POOL_MIN:
        extreme_of_window(&pool->window, at, -1, acc);
        break;
    case POOL_REDUCE_SUM:
        sum_channels(&pool->window, at, acc);
        break;
    case POOL_ARGMAX_X:
    case POOL_ARGMAX_Y:
        place_of_maximum(&pool->window, at, pool->mode == POOL_ARGMAX_Y, acc);
        break;
    case POOL_NONE:
        break;
    default:
        sum_window(&pool->window, at, acc);
        break;
    }
}

/** One pixel, divided where the mode asks for it. */
static void pool_pixel(const struct pool *pool, uint32_t oy, uint32_t ox, int64_t *acc)
{
    struct place at = {oy, ox, npu_kernel_window_taps_y(&pool->window, oy),
                       npu_kernel_window_taps_x(&pool->window, ox)};
    uint32_t count = (at.down.last - at.down.first) * (at.across.last - at.across.first);
    gather_pixel(pool, &at, acc);
    if (pool->divide && count > 0) {
        npu_scale_all(acc, pool->output.map.depth, reciprocal(count), pool->output.rounding);
    }
}

/** Largest of all taps; as npu_dot_depthwise(). */
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

static bool write_row_quickly(struct npu *npu, const struct pool *pool, uint32_t oy,
                              const int16_t **inputs, int32_t *sums)
{
    static const int16_t ones[NPU_BRICK] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    const struct npu_feature_map *ofm = &pool->output.map;
    size_t pixel_step = (size_t)pool->window.stride_x * ofm->depth;
    for (uint32_t ox = 0; ox < ofm->width;) {
        struct npu_span span;
        if (!npu_open_pixels(npu, ofm, oy, ox, ofm->width - ox, &span)) {
            return false;
        }
        npu_kernel_window_aim(&pool->window, oy, ox, inputs);
        for (size_t first = 0; first < ofm->depth; first += NPU_BRICK) {
            if (npu_should_abort(npu)) {
                return false;
            }
            if (pool->mode == POOL_MAX) {
                maximum_of_taps(inputs, pool->taps, first, pixel_step, span.pixels, sums);
            } else {
                npu_dot_depthwise(inputs, pool->taps, first, pixel_step, ones, 0, span.pixels,
                                  sums);
            }
            npu_requant(&pool->requant, 0, span.pixels, sums);
            npu_store_brick(ofm, &span, first / NPU_BRICK, sums);
        }
        ox += span.pixels;
    }
    return true;
}

static bool run_rows_quickly(struct npu *npu, struct pool *pool)
{
    const struct npu_feature_map *ofm = &pool->output.map;
    int32_t *sums = npu_scratch_get(npu, NPU_BUFFER_SUMS, ofm->width, NPU_BRICK * sizeof *sums);
    const int16_t **inputs = npu_scratch_get(npu, NPU_BUFFER_RUNS, pool->taps, sizeof *inputs);
    if (sums == NULL || inputs == NULL || !npu_kernel_window_prepare(npu, &pool->window, true)) {
        return false;
    }
    for (uint32_t oy = 0; oy < ofm->height; oy++) {
        if (!npu_kernel_window_advance(npu, &pool->window, oy) ||
            !write_row_quickly(npu, pool, oy, inputs, sums)) {
            return false;
        }
    }
    return true;
}

/** One row by the exact way, which does for everything. */
static bool run_row(struct npu *npu, const struct pool *pool, uint32_t oy, int64_t *acc)
{
    const struct npu_feature_map *ofm = &pool->output.map;
    if (!npu_accumulators_start(npu, &pool->accumulators, oy, 0, ofm->width, acc)) {
        return false;
    }
    for (uint32_t ox = 0; ox < ofm->width && pool->mode != POOL_NONE; ox++) {
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
                           pool->accumulators.bits, pool->output.rounding);
    } else {
        npu_scale_all(acc, (size_t)ofm->width * ofm->depth, pool->scale, pool->output.rounding);
    }
    return npu_output_write(npu, &pool->output, oy, 0, ofm->width, acc);
}

static bool run_rows(struct npu *npu, struct pool *pool)
{
    const struct npu_feature_map *ofm = &pool->output.map;
    int64_t *acc = npu_scratch_get(npu, NPU_BUFFER_ACC, ofm->width, ofm->depth * sizeof *acc);
    bool reads = pool->mode != POOL_NONE;
    if (acc == NULL || (reads && !npu_kernel_window_prepare(npu, &pool->window, false))) {
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

/**
 * U85 divides an average always, and scales then. U55 and U65 either scale, or
 * divide, when the IFM is padded: Vela asks for it by a unit OFM_SCALE, its
 * older core by not selecting OFM_SCALE.
 */
static bool choose_scale(struct npu *npu, struct pool *pool)
{
    bool is_u85 = npu->product->family->index == NPU_U85;
    bool average = pool->mode == POOL_AVERAGE;
    pool->scale = (struct npu_scale){1, 0};
    pool->divide = average;
    if (!pool->output.global_scale && pool->mode == POOL_REDUCE_SUM) {
        return npu_fail(npu, NPU_FAULT_PARSE, "REDUCE_SUM without OFM_SCALE is not supported");
    }
    if (!pool->output.global_scale) {
        pool->channel_scales = is_u85 ? npu_scales_load(npu, pool->output.map.depth, false) : NULL;
        return !is_u85 || pool->channel_scales != NULL;
    }
    if (!npu_output_scale(npu, &pool->scale)) {
        return false;
    }
    pool->divide =
        average &&
        (is_u85 || (pool->window.padded && pool->scale.multiplier == 1 && pool->scale.shift == 0));
    return true;
}

/**
 * The accumulator of ARGMAX has the place from bit 16 on, and below what is not
 * known; OFM_SCALE has to leave the place alone. acc holds the place only.
 */
static bool choose_place(struct npu *npu, struct pool *pool)
{
    bool alone = pool->scale.multiplier == 1 && pool->scale.shift == 16 &&
                 pool->output.rounding == NPU_ROUND_DOWN && pool->channel_scales == NULL;
    pool->scale.shift = 0;
    return alone || npu_fail(npu, NPU_FAULT_PARSE, "ARGMAX scales by other than 1 >> 16");
}

/** Where every tap counts and all sums fit 32 bits, bricks of channels are
 * computed together. */
static void choose_way(struct npu *npu, struct pool *pool)
{
    const struct npu_feature_map *ifm = &pool->window.ifm;
    pool->taps = pool->window.kernel_height * pool->window.kernel_width;
    int64_t largest = npu_map_largest(ifm) * (pool->mode == POOL_MAX ? 1 : pool->taps);
    bool maximum = pool->mode == POOL_MAX;
    pool->quick = (maximum || pool->mode == POOL_AVERAGE || pool->mode == POOL_SUM) &&
                  !pool->divide && pool->channel_scales == NULL && npu_map_fits_16(ifm) &&
                  npu_accumulators_plain(&pool->accumulators) &&
                  !(maximum && pool->window.padded) &&
                  npu_requant_open_all(npu, &pool->requant, &pool->output, pool->scale, largest);
}

/** What the mode asks of the registers. */
static bool check_mode(struct npu *npu, const struct pool *pool)
{
    uint32_t ifm_depth = pool->window.ifm.depth;
    uint32_t ofm_depth = pool->output.map.depth;
    bool sums = pool->mode == POOL_AVERAGE || pool->mode == POOL_REDUCE_SUM ||
                pool->mode == POOL_SUM || pool->mode == POOL_NONE;
    if (ofm_depth != (pool->mode == POOL_REDUCE_SUM ? 1 : ifm_depth)) {
        return npu_fail(npu, NPU_FAULT_PARSE, "has IFM depth %u but OFM depth %u",
                        (unsigned)ifm_depth, (unsigned)ofm_depth);
    }
    if (pool->mode == POOL_NONE ? pool->accumulators.input == NPU_ACC_RESET
                                : !sums && !npu_accumulators_plain(&pool->accumulators)) {
        return npu_fail(npu, NPU_FAULT_PARSE, "of mode %u has accumulators of input %u",
                        (unsigned)pool->mode, (unsigned)pool->accumulators.input);
    }
    return true;
}

bool npu_op_pool(struct npu *npu, uint32_t param)
{
    struct pool pool = {.mode = (enum pool_mode)param};
    bool is_u85 = npu->product->family->index == NPU_U85;
    if (!is_u85 && param >= OLD_MODES) {
        return npu_fail(npu, NPU_FAULT_PARSE, "has mode %u", (unsigned)param);
    }
    const struct npu_feature_map *ofm = &pool.output.map;
    if (!npu_output_open(npu, &pool.output) ||
        !npu_kernel_window_open(npu, &pool.window, ofm->height, ofm->width) ||
        !npu_accumulators_open(npu, &pool.output, &pool.accumulators) || !check_mode(npu, &pool) ||
        !choose_scale(npu, &pool)) {
        return false;
    }
    bool place = pool.mode == POOL_ARGMAX_X || pool.mode == POOL_ARGMAX_Y;
    if (place && !choose_place(npu, &pool)) {
        return false;
    }
    choose_way(npu, &pool);
    const struct npu_feature_map *ifm2 = &pool.accumulators.ifm2;
    bool none = pool.mode == POOL_NONE;
    return (pool.quick ? run_rows_quickly(npu, &pool) : run_rows(npu, &pool)) &&
           npu_output_close(npu, &pool.output) &&
           npu_operation_done(
               npu, &(struct npu_work){.ifm = none ? ifm2 : &pool.window.ifm,
                                       .ifm2 = ifm2->used && !none ? ifm2 : NULL,
                                       .ofm = ofm,
                                       .window = &pool.window,
                                       .output_class = pool.mode == POOL_MAX ? NPU_OUTPUT_MAX_POOL
                                                                             : NPU_OUTPUT_OTHER,
                                       .tables = pool.output.activation != NPU_ACTIVATION_NONE});
}
