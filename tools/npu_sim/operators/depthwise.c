// SPDX-License-Identifier: MIT
/** NPU_OP_DEPTHWISE: each channel convolved with its own kernel. */
#include <string.h>

#include "arithmetic/dot.h"
#include "arithmetic/requant.h"
#include "core/npu_internal.h"
#include "operands/operation.h"
#include "operands/window.h"
#include "operators/conv.h"
#include "operators/layout.h"

struct depthwise {
    const struct npu_op *op;
    struct npu_kernel_window window;
    struct npu_scale_records records;
    const struct npu_channel_scale *scales; /**< of the exact path */
    const int16_t *weights;                 /**< [tap][step] */
    size_t step;                            /**< channels rounded up to whole lanes */
    const int16_t **inputs;                 /**< of each tap, for one pixel */
    const int8_t *quads;                    /**< weights of npu_dot_depthwise_quads(), or NULL */
    size_t brick_bytes;                     /**< of them, from a brick to the next */
    const uint8_t **bytes;                  /**< inputs for them */
    struct npu_accumulator_rows accumulators;
    uint32_t taps;
    uint32_t taps_per_sum; /**< that a 32-bit sum may cover */
    bool quick;            /**< all sums fit 32 bits and requant is exact */
    struct npu_requant requant;
};

/** Reorder [channel][tap] to [tap][step], padded with 0. */
static bool transpose_weights(struct npu *npu, struct depthwise *depthwise,
                              struct npu_weights *weights)
{
    size_t channels = depthwise->op->output.map.depth;
    if (weights->packed != NULL && weights->packing == NPU_PACKED_WORDS) {
        depthwise->weights = weights->packed;
        return true;
    }
    size_t bytes = depthwise->taps * depthwise->step * sizeof *depthwise->weights;
    int16_t *packed = npu_cache_pack(&npu->weights, weights, bytes);
    if (packed == NULL) {
        return npu_fail(npu, NPU_FAULT_PARSE, "no host memory for its weights");
    }
    weights->packing = NPU_PACKED_WORDS;
    const int16_t *plain = weights->plain;
    for (size_t c = 0; c < channels; c++) {
        for (size_t tap = 0; tap < depthwise->taps; tap++) {
            packed[tap * depthwise->step + c] = *plain++;
        }
    }
    depthwise->weights = packed;
    return true;
}

/** Interleave the taps in fours, as npu_dot_depthwise_quads() wants them. */
static void fill_quads(const struct depthwise *depthwise, const int16_t *plain, int32_t zero,
                       int8_t *packed)
{
    const size_t taps = depthwise->taps;
    for (size_t c = 0; c < depthwise->op->output.map.depth; c++, plain += taps) {
        const size_t lane = c % NPU_DOT_LANES;
        int8_t *brick = packed + c / NPU_DOT_LANES * depthwise->brick_bytes;
        int32_t start = npu_quads_start(plain, taps, zero);
        memcpy(brick + lane * sizeof start, &start, sizeof start);
        brick += NPU_DOT_LANES * sizeof start;
        for (size_t tap = 0; tap < taps; tap++) {
            size_t quad = tap / NPU_DOT_QUAD * NPU_DOT_LANES + lane;
            brick[quad * NPU_DOT_QUAD + tap % NPU_DOT_QUAD] = (int8_t)plain[tap];
        }
    }
}

/** Pack the weights in quads, if that is possible; false after recording a fault. */
static bool pack_quads(struct npu *npu, struct depthwise *depthwise, struct npu_weights *weights)
{
    const struct npu_feature_map *ifm = &depthwise->op->ifm;
    const int32_t zero = npu_map_zero_8(ifm);
    const size_t quads = (depthwise->taps + NPU_DOT_QUAD - 1) / NPU_DOT_QUAD;
    const bool words = weights->packed != NULL && weights->packing == NPU_PACKED_WORDS;
    depthwise->brick_bytes = (quads * NPU_DOT_QUAD + sizeof zero) * NPU_DOT_LANES;
    if (words || !depthwise->quick || npu_dot_depthwise_quads() == NULL ||
        !npu_inputs_fit_quads(ifm)) {
        return true;
    }
    if (weights->packed != NULL && weights->packed_zero == zero) {
        depthwise->quads = weights->packed;
        return true;
    }
    if (!npu_weights_fit_bytes(weights->plain, depthwise->op->weights.count)) {
        return true;
    }
    size_t bytes = depthwise->step / NPU_DOT_LANES * depthwise->brick_bytes;
    int8_t *packed = npu_cache_pack(&npu->weights, weights, bytes);
    if (packed == NULL) {
        return npu_fail(npu, NPU_FAULT_PARSE, "no host memory for its weights");
    }
    weights->packing = NPU_PACKED_QUADS;
    weights->packed_zero = zero;
    fill_quads(depthwise, weights->plain, zero, packed);
    depthwise->quads = packed;
    return true;
}

/** Pack the weights, and open the window for them. */
static bool prepare(struct npu *npu, struct depthwise *depthwise, struct npu_weights *weights)
{
    const struct npu_op *op = depthwise->op;
    if (!pack_quads(npu, depthwise, weights)) {
        return false;
    }
    bool quads = depthwise->quads != NULL;
    enum npu_row_element element = npu_map_fits_16(&op->ifm) ? NPU_ROW_16 : NPU_ROW_32;
    return (quads || transpose_weights(npu, depthwise, weights)) &&
           npu_kernel_window_open(npu, &op->kernel, &op->ifm, quads ? NPU_ROW_8 : element,
                                  &depthwise->window);
}

static void accumulate(const struct depthwise *depthwise, int64_t *acc, int32_t *sums)
{
    size_t channels = depthwise->op->output.map.depth;
    for (size_t first = 0; first < channels; first += NPU_BRICK) {
        for (uint32_t tap = 0; tap < depthwise->taps; tap += depthwise->taps_per_sum) {
            uint32_t rest = depthwise->taps - tap;
            npu_dot_depthwise(depthwise->inputs + tap,
                              rest < depthwise->taps_per_sum ? rest : depthwise->taps_per_sum,
                              first, 0, depthwise->weights + tap * depthwise->step + first,
                              depthwise->step, 1, sums);
            for (size_t c = 0; c < NPU_BRICK && first + c < channels; c++) {
                acc[first + c] += sums[c];
            }
        }
    }
}

/** The exact path for inputs wider than 16 bits. */
static void accumulate_wide(const struct depthwise *depthwise, uint32_t oy, uint32_t ox,
                            int64_t *acc)
{
    const struct npu_kernel_window *window = &depthwise->window;
    uint32_t channels = depthwise->op->output.map.depth;
    const int16_t *weight = depthwise->weights;
    for (uint32_t ky = 0; ky < window->kernel->height; ky++) {
        const int32_t *row = npu_kernel_window_row(window, oy, ky);
        for (uint32_t kx = 0; kx < window->kernel->width; kx++) {
            const int32_t *input = row + npu_kernel_window_offset(window, ox, kx);
            for (uint32_t c = 0; c < channels; c++) {
                acc[c] += (int64_t)input[c] * weight[c];
            }
            weight += depthwise->step;
        }
    }
}

/** Sums of a brick of channels from first on, of some pixels from the inputs on. */
static void sum_brick(const struct depthwise *depthwise, size_t first, uint32_t pixels,
                      int32_t *sums)
{
    size_t pixel_step = npu_kernel_window_offset(&depthwise->window, 1, 0);
    if (depthwise->quads != NULL) {
        const int8_t *weights = depthwise->quads + first / NPU_BRICK * depthwise->brick_bytes;
        npu_dot_depthwise_quads()(depthwise->bytes, depthwise->taps, first, pixel_step, weights,
                                  pixels, sums);
        return;
    }
    npu_dot_depthwise(depthwise->inputs, depthwise->taps, first, pixel_step,
                      depthwise->weights + first, depthwise->step, pixels, sums);
}

static bool write_row_quickly(struct npu *npu, const struct depthwise *depthwise, uint32_t oy,
                              int32_t *sums)
{
    const struct npu_feature_map *ofm = &depthwise->op->output.map;
    for (uint32_t ox = 0; ox < ofm->width;) {
        struct npu_span span;
        if (!npu_open_pixels(npu, ofm, oy, ox, ofm->width - ox, &span)) {
            return false;
        }
        if (depthwise->quads != NULL) {
            npu_kernel_window_bytes(&depthwise->window, oy, ox, depthwise->bytes);
        } else {
            npu_kernel_window_inputs(&depthwise->window, oy, ox, depthwise->inputs);
        }
        for (size_t first = 0; first < ofm->depth; first += NPU_BRICK) {
            if (npu_should_abort(npu)) {
                return false;
            }
            sum_brick(depthwise, first, span.pixels, sums);
            npu_requant_store(&depthwise->requant, &span, first / NPU_BRICK, sums);
        }
        ox += span.pixels;
    }
    return true;
}

static bool write_row_exactly(struct npu *npu, const struct depthwise *depthwise, uint32_t oy,
                              int64_t *acc, int32_t *sums)
{
    const struct npu_feature_map *ofm = &depthwise->op->output.map;
    size_t channels = ofm->depth;
    if (!npu_accumulators_start(npu, &depthwise->accumulators, oy, 0, ofm->width, acc)) {
        return false;
    }
    for (uint32_t ox = 0; ox < ofm->width; ox++) {
        if (npu_should_abort(npu)) {
            return false;
        }
        if (depthwise->window.element == NPU_ROW_16) {
            npu_kernel_window_inputs(&depthwise->window, oy, ox, depthwise->inputs);
            accumulate(depthwise, acc + ox * channels, sums);
        } else {
            accumulate_wide(depthwise, oy, ox, acc + ox * channels);
        }
    }
    if (npu_accumulators_leave(&depthwise->accumulators, oy, 0, ofm->width, acc)) {
        return true;
    }
    npu_scale_channels(acc, ofm->width, channels, depthwise->scales,
                       depthwise->op->accumulators.bits, depthwise->op->output.rounding);
    return npu_output_write(npu, &depthwise->op->output, oy, 0, ofm->width, acc);
}

static bool run_rows(struct npu *npu, struct depthwise *depthwise)
{
    const struct npu_feature_map *ofm = &depthwise->op->output.map;
    size_t channels = ofm->depth;
    int64_t *acc = npu_scratch_get(npu, NPU_BUFFER_ACC, ofm->width, channels * sizeof *acc);
    int32_t *sums = npu_scratch_get(npu, NPU_BUFFER_SUMS, ofm->width, NPU_BRICK * sizeof *sums);
    if (acc == NULL || sums == NULL) {
        return false;
    }
    for (uint32_t oy = 0; oy < ofm->height; oy++) {
        if (!npu_kernel_window_advance(npu, &depthwise->window, oy)) {
            return false;
        }
        bool written = depthwise->quick ? write_row_quickly(npu, depthwise, oy, sums)
                                        : write_row_exactly(npu, depthwise, oy, acc, sums);
        if (!written) {
            return false;
        }
    }
    return true;
}

/** Find the scales, and allocate pointers to the inputs. */
static bool open_operation(struct npu *npu, struct depthwise *depthwise)
{
    const struct npu_op *op = depthwise->op;
    int64_t limit = npu_sum_limit(&op->ifm);
    depthwise->taps = npu_kernel_taps(&op->kernel);
    depthwise->taps_per_sum = limit < depthwise->taps ? (uint32_t)limit : depthwise->taps;
    depthwise->step =
        ((size_t)op->output.map.depth + NPU_DOT_LANES - 1) / NPU_DOT_LANES * NPU_DOT_LANES;
    depthwise->inputs = npu_scratch_get(npu, NPU_BUFFER_RUNS, depthwise->taps,
                                        sizeof *depthwise->inputs + sizeof *depthwise->bytes);
    if (depthwise->inputs == NULL) {
        return false;
    }
    depthwise->bytes = (const uint8_t **)(void *)(depthwise->inputs + depthwise->taps);
    return npu_scales_map(npu, op, &depthwise->records) &&
           npu_accumulators_open(npu, op, &depthwise->accumulators);
}

/** Decide whether all sums fit 32 bits; if not, the exact path needs the scales. */
static bool choose_way(struct npu *npu, struct depthwise *depthwise, struct npu_weights *weights)
{
    const struct npu_op *op = depthwise->op;
    depthwise->quick =
        depthwise->taps_per_sum == depthwise->taps && npu_map_fits_16(&op->ifm) &&
        npu_accumulators_plain(&op->accumulators) &&
        npu_requant_open_channels(npu, &depthwise->requant, op, &depthwise->records, weights,
                                  npu_largest_sum(&op->ifm, depthwise->taps));
    if (!depthwise->quick) {
        depthwise->scales = npu_scales_decode(npu, op, &depthwise->records);
    }
    return depthwise->quick || depthwise->scales != NULL;
}

static bool execute(struct npu *npu, const struct npu_op *op)
{
    struct depthwise depthwise = {.op = op};
    if (!open_operation(npu, &depthwise)) {
        return false;
    }
    struct npu_weights *weights = npu_weights_load(npu, &op->weights);
    return weights != NULL && choose_way(npu, &depthwise, weights) &&
           prepare(npu, &depthwise, weights) && run_rows(npu, &depthwise);
}

static bool decode(struct npu *npu, struct npu_op *op)
{
    if (!npu_decode_conv(npu, op)) {
        return false;
    }
    if (op->ifm.depth != op->output.map.depth) {
        return npu_fail(npu, NPU_FAULT_PARSE, "has IFM depth %u but OFM depth %u",
                        (unsigned)op->ifm.depth, (unsigned)op->output.map.depth);
    }
    op->inputs = 1;
    return npu_decode_weights(npu, op, true);
}

const struct npu_operator npu_depthwise = {decode, execute};
