// SPDX-License-Identifier: MIT
/** NPU_OP_POOL: maximum, average, and sum over all channels. */
#include <string.h>

#include "clones.h"
#include "dot.h"
#include "npu_internal.h"
#include "operation.h"
#include "output.h"
#include "requant.h"
#include "window.h"

enum pool_mode { POOL_MAX = 0, POOL_AVERAGE = 1, POOL_REDUCE_SUM = 2 };

struct pool {
    enum pool_mode mode;
    struct npu_output output;
    struct npu_window window;
    struct npu_scale scale;
    bool divide; /**< average by the number of elements that are not padding */
    uint32_t taps;
    bool quick; /**< all taps count, all sums fit 32 bits and requant is exact */
    struct npu_requant requant;
};

static void sum_window(const struct npu_window *window, uint32_t oy, uint32_t ox,
                       struct npu_taps down, struct npu_taps across, int64_t *acc)
{
    size_t depth = window->ifm.depth;
    memset(acc, 0, depth * sizeof *acc);
    for (uint32_t ky = down.first; ky < down.last; ky++) {
        const int32_t *row = npu_window_row(window, oy, ky);
        for (uint32_t kx = across.first; kx < across.last; kx++) {
            const int32_t *input = row + npu_window_offset(window, ox, kx);
            for (size_t c = 0; c < depth; c++) {
                acc[c] += input[c];
            }
        }
    }
}

static void maximum_window(const struct npu_window *window, uint32_t oy, uint32_t ox,
                           struct npu_taps down, struct npu_taps across, int64_t *acc)
{
    size_t depth = window->ifm.depth;
    for (size_t c = 0; c < depth; c++) {
        acc[c] = npu_map_minimum(&window->ifm) - window->ifm.zero_point;
    }
    for (uint32_t ky = down.first; ky < down.last; ky++) {
        const int32_t *row = npu_window_row(window, oy, ky);
        for (uint32_t kx = across.first; kx < across.last; kx++) {
            const int32_t *input = row + npu_window_offset(window, ox, kx);
            for (size_t c = 0; c < depth; c++) {
                acc[c] = input[c] > acc[c] ? input[c] : acc[c];
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

/** One pixel, scaled. work: [IFM depth]. */
static void pool_pixel(const struct pool *pool, uint32_t oy, uint32_t ox, int64_t *work,
                       int64_t *out)
{
    const struct npu_window *window = &pool->window;
    struct npu_taps down = npu_window_taps_y(window, oy);
    struct npu_taps across = npu_window_taps_x(window, ox);
    uint32_t count = (down.last - down.first) * (across.last - across.first);
    size_t channels = pool->output.map.depth;
    if (pool->mode == POOL_MAX) {
        maximum_window(window, oy, ox, down, across, out);
    } else if (pool->mode == POOL_AVERAGE) {
        sum_window(window, oy, ox, down, across, out);
    } else {
        sum_window(window, oy, ox, down, across, work);
        *out = 0;
        for (uint32_t c = 0; c < window->ifm.depth; c++) {
            *out += work[c];
        }
    }
    struct npu_scale scale = pool->divide && count > 0 ? reciprocal(count) : pool->scale;
    npu_scale_all(out, channels, scale, pool->output.rounding);
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
        npu_window_aim(&pool->window, oy, ox, inputs);
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
    if (sums == NULL || inputs == NULL || !npu_window_prepare(npu, &pool->window, true)) {
        return false;
    }
    for (uint32_t oy = 0; oy < ofm->height; oy++) {
        if (!npu_window_advance(npu, &pool->window, oy) ||
            !write_row_quickly(npu, pool, oy, inputs, sums)) {
            return false;
        }
    }
    return true;
}

/** The exact way for everything. */
static bool run_rows(struct npu *npu, struct pool *pool)
{
    const struct npu_feature_map *ofm = &pool->output.map;
    size_t channels = ofm->depth;
    int64_t *acc = npu_scratch_get(npu, NPU_BUFFER_ACC, ofm->width, channels * sizeof *acc);
    int64_t *work = npu_scratch_get(npu, NPU_BUFFER_SUMS, pool->window.ifm.depth, sizeof *work);
    if (acc == NULL || work == NULL || !npu_window_prepare(npu, &pool->window, false)) {
        return false;
    }
    for (uint32_t oy = 0; oy < ofm->height; oy++) {
        if (!npu_window_advance(npu, &pool->window, oy)) {
            return false;
        }
        for (uint32_t ox = 0; ox < ofm->width; ox++) {
            if (npu_should_abort(npu)) {
                return false;
            }
            pool_pixel(pool, oy, ox, work, acc + ox * channels);
        }
        if (!npu_output_write(npu, &pool->output, oy, 0, ofm->width, acc)) {
            return false;
        }
    }
    return true;
}

/**
 * What scales the result. An average over a padded IFM is divided by the number
 * of elements that are not padding: Vela asks for it by a unit OFM_SCALE, its
 * older core by not selecting OFM_SCALE.
 */
static bool choose_scale(struct npu *npu, struct pool *pool)
{
    pool->scale = (struct npu_scale){1, 0};
    if (!pool->output.global_scale) {
        pool->divide = pool->mode == POOL_AVERAGE;
        return pool->mode != POOL_REDUCE_SUM ||
               npu_fail(npu, NPU_FAULT_PARSE, "REDUCE_SUM without OFM_SCALE is not supported");
    }
    if (!npu_output_scale(npu, &pool->scale)) {
        return false;
    }
    pool->divide = pool->mode == POOL_AVERAGE && pool->window.padded &&
                   pool->scale.multiplier == 1 && pool->scale.shift == 0;
    return true;
}

/** Where every tap counts and all sums fit 32 bits, bricks of channels are
 * computed together. */
static void choose_way(struct npu *npu, struct pool *pool)
{
    const struct npu_feature_map *ifm = &pool->window.ifm;
    pool->taps = pool->window.kernel_height * pool->window.kernel_width;
    int64_t largest = npu_map_largest(ifm) * (pool->mode == POOL_MAX ? 1 : pool->taps);
    pool->quick = pool->mode != POOL_REDUCE_SUM && !pool->divide && npu_map_fits_16(ifm) &&
                  (pool->mode == POOL_AVERAGE || !pool->window.padded) &&
                  npu_requant_open_all(npu, &pool->requant, &pool->output, pool->scale, largest);
}

bool npu_op_pool(struct npu *npu, uint32_t param)
{
    struct pool pool = {.mode = (enum pool_mode)param};
    if (param > POOL_REDUCE_SUM) {
        return npu_fail(npu, NPU_FAULT_PARSE, "has mode %u", (unsigned)param);
    }
    const struct npu_feature_map *ofm = &pool.output.map;
    if (!npu_output_open(npu, &pool.output) ||
        !npu_window_open(npu, &pool.window, ofm->height, ofm->width)) {
        return false;
    }
    const struct npu_feature_map *ifm = &pool.window.ifm;
    uint32_t depth = pool.mode == POOL_REDUCE_SUM ? 1 : ifm->depth;
    if (ofm->depth != depth) {
        return npu_fail(npu, NPU_FAULT_PARSE, "has IFM depth %u but OFM depth %u",
                        (unsigned)ifm->depth, (unsigned)ofm->depth);
    }
    if (!choose_scale(npu, &pool)) {
        return false;
    }
    choose_way(npu, &pool);
    return (pool.quick ? run_rows_quickly(npu, &pool) : run_rows(npu, &pool)) &&
           npu_operation_done(
               npu, &(struct npu_work){.ifm = ifm,
                                       .ofm = ofm,
                                       .window = &pool.window,
                                       .output_class = pool.mode == POOL_MAX ? NPU_OUTPUT_MAX_POOL
                                                                             : NPU_OUTPUT_OTHER,
                                       .tables = pool.output.activation != NPU_ACTIVATION_NONE});
}
