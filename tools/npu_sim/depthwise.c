// SPDX-License-Identifier: MIT
/** NPU_OP_DEPTHWISE: each channel convolved with its own kernel. */
#include <string.h>

#include "accumulators.h"
#include "conv.h"
#include "dot.h"
#include "npu_internal.h"
#include "operation.h"
#include "output.h"
#include "requant.h"
#include "weights.h"
#include "window.h"

struct depthwise {
    struct npu_output output;
    struct npu_kernel_window window;
    const struct npu_channel_scale *scales;
    const int16_t *weights; /**< [tap][step] */
    size_t step;            /**< channels rounded up to whole lanes */
    const int16_t **inputs; /**< of each tap, for one pixel */
    struct npu_accumulators accumulators;
    uint32_t taps;
    uint32_t taps_per_sum; /**< that a 32-bit sum may cover */
    bool quick;            /**< all sums fit 32 bits and requant is exact */
    struct npu_requant requant;
};

/** From [channel][tap] to [tap][step]; what sticks out is 0. */
static bool transpose_weights(struct npu *npu, struct depthwise *op, struct npu_weights *weights)
{
    size_t channels = op->output.map.depth;
    op->weights = weights->packed;
    if (op->weights != NULL) {
        return true;
    }
    int16_t *packed = npu_cache_pack(&npu->weights, weights, op->taps * op->step);
    if (packed == NULL) {
        return npu_fail(npu, NPU_FAULT_PARSE, "no host memory for its weights");
    }
    const int16_t *plain = weights->plain;
    for (size_t c = 0; c < channels; c++) {
        for (size_t tap = 0; tap < op->taps; tap++) {
            packed[tap * op->step + c] = *plain++;
        }
    }
    op->weights = packed;
    return true;
}

static void accumulate(const struct depthwise *op, int64_t *acc, int32_t *sums)
{
    size_t channels = op->output.map.depth;
    for (size_t first = 0; first < channels; first += NPU_BRICK) {
        for (uint32_t tap = 0; tap < op->taps; tap += op->taps_per_sum) {
            uint32_t rest = op->taps - tap;
            npu_dot_depthwise(op->inputs + tap, rest < op->taps_per_sum ? rest : op->taps_per_sum,
                              first, 0, op->weights + tap * op->step + first, op->step, 1, sums);
            for (size_t c = 0; c < NPU_BRICK && first + c < channels; c++) {
                acc[first + c] += sums[c];
            }
        }
    }
}

/** The exact path for inputs wider than 16 bits. */
static void accumulate_wide(const struct depthwise *op, uint32_t oy, uint32_t ox, int64_t *acc)
{
    const struct npu_kernel_window *window = &op->window;
    uint32_t channels = op->output.map.depth;
    const int16_t *weight = op->weights;
    for (uint32_t ky = 0; ky < window->kernel_height; ky++) {
        const int32_t *row = npu_kernel_window_row(window, oy, ky);
        for (uint32_t kx = 0; kx < window->kernel_width; kx++) {
            const int32_t *input = row + npu_kernel_window_offset(window, ox, kx);
            for (uint32_t c = 0; c < channels; c++) {
                acc[c] += (int64_t)input[c] * weight[c];
            }
            weight += op->step;
        }
    }
}

static bool write_row_quickly(struct npu *npu, const struct depthwise *op, uint32_t oy,
                              int32_t *sums)
{
    const struct npu_feature_map *ofm = &op->output.map;
    size_t pixel_step = (size_t)op->window.stride_x * op->window.ifm.depth;
    for (uint32_t ox = 0; ox < ofm->width;) {
        struct npu_span span;
        if (!npu_open_pixels(npu, ofm, oy, ox, ofm->width - ox, &span)) {
            return false;
        }
        npu_kernel_window_aim(&op->window, oy, ox, op->inputs);
        for (size_t first = 0; first < ofm->depth; first += NPU_BRICK) {
            if (npu_should_abort(npu)) {
                return false;
            }
            npu_dot_depthwise(op->inputs, op->taps, first, pixel_step, op->weights + first,
                              op->step, span.pixels, sums);
            npu_requant(&op->requant, first / NPU_BRICK, span.pixels, sums);
            npu_store_brick(ofm, &span, first / NPU_BRICK, sums);
        }
        ox += span.pixels;
    }
    return true;
}

static bool write_row_exactly(struct npu *npu, const struct depthwise *op, uint32_t oy,
                              int64_t *acc, int32_t *sums)
{
    const struct npu_feature_map *ofm = &op->output.map;
    size_t channels = ofm->depth;
    if (!npu_accumulators_start(npu, &op->accumulators, oy, 0, ofm->width, acc)) {
        return false;
    }
    for (uint32_t ox = 0; ox < ofm->width; ox++) {
        if (npu_should_abort(npu)) {
            return false;
        }
        if (op->window.narrow) {
            npu_kernel_window_aim(&op->window, oy, ox, op->inputs);
            accumulate(op, acc + ox * channels, sums);
        } else {
            accumulate_wide(op, oy, ox, acc + ox * channels);
        }
    }
    if (npu_accumulators_leave(&op->accumulators, oy, 0, ofm->width, acc)) {
        return true;
    }
    npu_scale_channels(acc, ofm->width, channels, op->scales, op->accumulators.bits,
                       op->output.rounding);
    return npu_output_write(npu, &op->output, oy, 0, ofm->width, acc);
}

static bool run_rows(struct npu *npu, struct depthwise *op)
{
    const struct npu_feature_map *ofm = &op->output.map;
    size_t channels = ofm->depth;
    int64_t *acc = npu_scratch_get(npu, NPU_BUFFER_ACC, ofm->width, channels * sizeof *acc);
    int32_t *sums = npu_scratch_get(npu, NPU_BUFFER_SUMS, ofm->width, NPU_BRICK * sizeof *sums);
    if (acc == NULL || sums == NULL) {
        return false;
    }
    for (uint32_t oy = 0; oy < ofm->height; oy++) {
        if (!npu_kernel_window_advance(npu, &op->window, oy)) {
            return false;
        }
        if (!(op->quick ? write_row_quickly(npu, op, oy, sums)
                        : write_row_exactly(npu, op, oy, acc, sums))) {
            return false;
        }
    }
    return true;
}

static bool open_operation(struct npu *npu, struct depthwise *op)
{
    struct npu_feature_map *ofm = &op->output.map;
    if (!npu_output_open(npu, &op->output) ||
        !npu_kernel_window_open(npu, &op->window, ofm->height, ofm->width) ||
        !npu_accumulators_open(npu, &op->output, &op->accumulators) ||
        !npu_check_scaling(npu, &op->output, &op->window.ifm)) {
        return false;
    }
    if (op->window.ifm.depth != ofm->depth) {
        return npu_fail(npu, NPU_FAULT_PARSE, "has IFM depth %u but OFM depth %u",
                        (unsigned)op->window.ifm.depth, (unsigned)ofm->depth);
    }
    op->taps = op->window.kernel_height * op->window.kernel_width;
    op->step = ((size_t)ofm->depth + NPU_DOT_LANES - 1) / NPU_DOT_LANES * NPU_DOT_LANES;
    int64_t limit = npu_sum_limit(&op->window.ifm);
    op->taps_per_sum = limit < op->taps ? (uint32_t)limit : op->taps;
    return true;
}

bool npu_op_depthwise(struct npu *npu, uint32_t param)
{
    (void)param;
    struct depthwise op = {0};
    if (!open_operation(npu, &op)) {
        return false;
    }
    op.scales = npu_scales_load(npu, op.output.map.depth, op.output.global_scale);
    struct npu_weights *weights =
        op.scales == NULL ? NULL : npu_weights_load(npu, &op.window, op.output.map.depth, true);
    op.quick =
        op.scales != NULL && op.taps_per_sum == op.taps && npu_map_fits_16(&op.window.ifm) &&
        npu_accumulators_plain(&op.accumulators) &&
        npu_requant_open_channels(npu, &op.requant, &op.output, op.scales, op.accumulators.bits,
                                  npu_largest_sum(&op.window.ifm, op.taps));
    op.inputs = npu_scratch_get(npu, NPU_BUFFER_RUNS, op.taps, sizeof *op.inputs);
    return weights != NULL && op.inputs != NULL && transpose_weights(npu, &op, weights) &&
           npu_kernel_window_prepare(npu, &op.window, npu_map_fits_16(&op.window.ifm)) &&
           run_rows(npu, &op) && npu_output_close(npu, &op.output) &&
           npu_operation_done(
               npu, &(struct npu_work){.ifm = &op.window.ifm,
                                       .ofm = &op.output.map,
                                       .window = &op.window,
                                       .inputs = 1,
                                       .output_class = op.accumulators.bits == 32
                                                           ? NPU_OUTPUT_OTHER
                                                           : NPU_OUTPUT_MUL_OR_ACC40,
                                       .tables = op.output.activation != NPU_ACTIVATION_NONE});
}
