// SPDX-License-Identifier: MIT
/**
 * NPU_OP_CONV. An exact path for every IFM (64-bit sums of 32-bit inputs), and the fast path for
 * 16-bit inputs, whose products npu_dot() sums in 32 bits over as many inputs as cannot overflow,
 * or npu_dot_quads() those of 8-bit inputs.
 */
#include <string.h>

#include "arithmetic/dot.h"
#include "arithmetic/requant.h"
#include "core/npu_internal.h"
#include "operands/matmul.h"
#include "operands/operation.h"
#include "operands/window.h"
#include "operators/conv.h"
#include "operators/layout.h"

enum {
    WEIGHTS_FROM_IFM2 = 1, /**< parameter of NPU_OP_CONV */
    WEIGHT_LIMIT = 255,
    BLOCK_PIXELS = 128, /**< computed together so that their sums stay in the L1 cache */
    BRICKS = 2,         /**< of each pixel, likewise */
};

/** Magnitude of the largest product of an input and a weight. */
static int64_t largest_product(const struct npu_feature_map *ifm)
{
    return npu_map_largest(ifm) * WEIGHT_LIMIT;
}

int64_t npu_sum_limit(const struct npu_feature_map *ifm)
{
    return INT32_MAX / (largest_product(ifm) + 1);
}

int64_t npu_largest_sum(const struct npu_feature_map *ifm, size_t inputs)
{
    return (int64_t)inputs * largest_product(ifm);
}

/** Point the dot runs at the window of pixel (oy, ox). */
static void set_inputs(const struct npu_convolution *conv, struct npu_layout *layout, uint32_t oy,
                       uint32_t ox)
{
    const struct npu_kernel_window *window = &conv->window;
    size_t start = npu_kernel_window_offset(window, ox, 0);
    for (uint32_t r = 0; r < layout->run_count; r++) {
        const void *row = npu_kernel_window_row(window, oy, layout->runs[r].ky);
        size_t offset = start + layout->runs[r].offset;
        if (layout->packing == NPU_PACKED_QUADS) {
            layout->quads[r].input = (const uint8_t *)row + offset;
            layout->quads[r].quads = (uint32_t)npu_divide_up(layout->runs[r].inputs, NPU_DOT_QUAD);
            continue;
        }
        layout->dots[r].input = (const int16_t *)row + offset;
        layout->dots[r].pairs = (uint32_t)npu_divide_up(layout->runs[r].inputs, NPU_DOT_PAIR);
    }
}

/** Number of runs from first on that fit one 32-bit sum; sets *pairs to their pairs. */
static uint32_t runs_per_sum(const struct npu_layout *layout, uint32_t first, size_t *pairs)
{
    int64_t inputs = 0;
    uint32_t run = first;
    *pairs = 0;
    while (run < layout->run_count &&
           (run == first || inputs + layout->runs[run].inputs <= layout->sum_limit)) {
        inputs += layout->runs[run].inputs;
        *pairs += layout->dots[run].pairs;
        run++;
    }
    return run - first;
}

/** 32-bit sums of count pixels over some runs, one brick of channels. */
static void sum_runs(const struct npu_convolution *conv, const struct npu_layout *layout,
                     uint32_t run, uint32_t runs, size_t pairs_before, size_t brick, uint32_t count,
                     int32_t *sums)
{
    size_t first = (brick * layout->pairs + pairs_before) * NPU_DOT_LANES * NPU_DOT_PAIR;
    if (layout->packing == NPU_PACKED_BYTES) {
        npu_dot_bytes()(layout->dots + run, runs, (const int8_t *)layout->packed + first, 1, sums);
        return;
    }
    const int16_t *weights = (const int16_t *)layout->packed + first;
    size_t pixel_step = npu_kernel_window_offset(&conv->window, 1, 0);
    npu_dot(layout->dots + run, runs, pixel_step, weights, count, sums);
}

/** Accumulate count pixels, starting at that of set_inputs(), into acc: one brick of channels. */
static void accumulate_brick(const struct npu_convolution *conv, const struct npu_layout *layout,
                             size_t brick, uint32_t count, int64_t *acc, int32_t *sums)
{
    size_t depth = conv->op->output.map.depth;
    size_t first = brick * NPU_BRICK;
    size_t channels = depth - first < NPU_BRICK ? depth - first : NPU_BRICK;
    size_t done = 0;
    for (uint32_t run = 0; run < layout->run_count;) {
        size_t pairs;
        uint32_t runs = runs_per_sum(layout, run, &pairs);
        sum_runs(conv, layout, run, runs, done, brick, count, sums);
        for (uint32_t p = 0; p < count; p++) {
            for (size_t c = 0; c < channels; c++) {
                acc[p * depth + first + c] += sums[p * NPU_BRICK + c];
            }
        }
        done += pairs;
        run += runs;
    }
}

/** The same for all channels. */
static void accumulate(const struct npu_convolution *conv, const struct npu_layout *layout,
                       uint32_t count, int64_t *acc, int32_t *sums)
{
    for (size_t brick = 0; brick < conv->bricks; brick++) {
        accumulate_brick(conv, layout, brick, count, acc, sums);
    }
}

/** 32-bit sums of count pixels and all runs: [bricks][count][lanes], from a brick on. */
static void sum_bricks(const struct npu_convolution *conv, const struct npu_layout *layout,
                       size_t brick, size_t bricks, uint32_t count, int32_t *sums)
{
    const int8_t *weights = (const int8_t *)layout->packed + brick * layout->brick_bytes;
    size_t pixel_step = npu_kernel_window_offset(&conv->window, 1, 0);
    switch (layout->packing) {
    case NPU_PACKED_QUADS:
        npu_dot_quads()(layout->quads, layout->run_count, pixel_step, weights, layout->brick_bytes,
                        bricks, count, sums);
        break;
    case NPU_PACKED_BYTES:
        npu_dot_bytes()(layout->dots, layout->run_count, weights, bricks, sums);
        break;
    case NPU_PACKED_WORDS:
        for (size_t i = 0; i < bricks; i++) {
            sum_runs(conv, layout, 0, layout->run_count, 0, brick + i, count,
                     sums + i * count * NPU_BRICK);
        }
    }
}

/** The number of bricks to sum together, from a brick on. */
static size_t bricks_together(const struct npu_convolution *conv, const struct npu_layout *layout,
                              size_t brick)
{
    size_t rest = conv->bricks - brick;
    if (layout->packing == NPU_PACKED_WORDS) {
        return 1;
    }
    return npu_has_one_pixel(conv->op) || rest < BRICKS ? rest : BRICKS;
}

/** The exact path for inputs wider than 16 bits. */
static void accumulate_wide(const struct npu_convolution *conv, uint32_t oy, uint32_t ox,
                            uint32_t count, int64_t *acc)
{
    const struct npu_kernel_window *window = &conv->window;
    const struct npu_kernel *kernel = &conv->op->kernel;
    size_t depth = conv->op->ifm.depth;
    for (uint32_t p = 0; p < count; p++) {
        const int16_t *weight = conv->weights;
        for (uint32_t c = 0; c < conv->op->output.map.depth; c++) {
            int64_t sum = 0;
            for (uint32_t ky = 0; ky < kernel->height; ky++) {
                const int32_t *row = npu_kernel_window_row(window, oy, ky);
                for (uint32_t kx = 0; kx < kernel->width; kx++) {
                    const int32_t *input = row + npu_kernel_window_offset(window, ox + p, kx);
                    for (size_t i = 0; i < depth; i++) {
                        sum += (int64_t)input[i] * *weight++;
                    }
                }
            }
            *acc++ += sum;
        }
    }
}

/** Write at most count pixels of row oy from ox on; returns how many, or 0 after a fault. */
static uint32_t write_quickly(struct npu *npu, const struct npu_convolution *conv,
                              struct npu_layout *layout, uint32_t oy, uint32_t ox, uint32_t count,
                              int32_t *sums)
{
    struct npu_span span;
    if (!npu_open_pixels(npu, &conv->op->output.map, oy, ox, count, &span)) {
        return 0;
    }
    set_inputs(conv, layout, oy, ox);
    for (size_t brick = 0, bricks; brick < conv->bricks; brick += bricks) {
        bricks = bricks_together(conv, layout, brick);
        sum_bricks(conv, layout, brick, bricks, span.pixels, sums);
        for (size_t i = 0; i < bricks; i++) {
            npu_requant_store(&conv->requant, &span, brick + i, sums + i * span.pixels * NPU_BRICK);
        }
    }
    return span.pixels;
}

/** Write whole rows from oy on, whose inputs are joined. */
static bool write_joined(struct npu *npu, const struct npu_convolution *conv,
                         struct npu_layout *layout, uint32_t oy, uint32_t rows, int32_t *sums)
{
    const struct npu_feature_map *ofm = &conv->op->output.map;
    struct npu_span spans[BLOCK_PIXELS];
    for (uint32_t row = 0; row < rows; row++) {
        if (!npu_open_pixels(npu, ofm, oy + row, 0, ofm->width, &spans[row])) {
            return false;
        }
    }
    set_inputs(conv, layout, oy, 0);
    for (size_t brick = 0, bricks; brick < conv->bricks; brick += bricks) {
        bricks = bricks_together(conv, layout, brick);
        sum_bricks(conv, layout, brick, bricks, rows * ofm->width, sums);
        for (size_t i = 0; i < bricks * rows; i++) {
            npu_requant_store(&conv->requant, &spans[i % rows], brick + i / rows,
                              sums + i * ofm->width * NPU_BRICK);
        }
    }
    return !npu_should_abort(npu);
}

/** The same for any inputs. */
static uint32_t write_exactly(struct npu *npu, const struct npu_convolution *conv,
                              struct npu_layout *layout, uint32_t oy, uint32_t ox, uint32_t count,
                              int64_t *acc, int32_t *sums)
{
    if (!npu_accumulators_start(npu, &conv->accumulators, oy, ox, count, acc)) {
        return 0;
    }
    if (conv->window.element == NPU_ROW_16) {
        set_inputs(conv, layout, oy, ox);
        accumulate(conv, layout, count, acc, sums);
    } else {
        accumulate_wide(conv, oy, ox, count, acc);
    }
    if (npu_accumulators_leave(&conv->accumulators, oy, ox, count, acc)) {
        return count;
    }
    npu_scale_channels(acc, count, conv->op->output.map.depth, conv->scales,
                       conv->op->accumulators.bits, conv->op->output.rounding);
    return npu_output_write(npu, &conv->op->output, oy, ox, count, acc) ? count : 0;
}

static bool run_rows(struct npu *npu, struct npu_convolution *conv, struct npu_layout *layout)
{
    const struct npu_feature_map *ofm = &conv->op->output.map;
    int64_t *acc = npu_scratch_get(npu, NPU_BUFFER_ACC, BLOCK_PIXELS, ofm->depth * sizeof *acc);
    size_t most = conv->bricks > BRICKS * BLOCK_PIXELS ? conv->bricks : BRICKS * BLOCK_PIXELS;
    int32_t *sums = npu_scratch_get(npu, NPU_BUFFER_SUMS, most, NPU_BRICK * sizeof *sums);
    if (acc == NULL || sums == NULL) {
        return false;
    }
    uint32_t rows = 1;
    if (conv->quick) {
        rows = npu_kernel_joined_rows(npu, &conv->op->kernel, &conv->op->ifm, ofm, BLOCK_PIXELS);
    }
    if (!npu_kernel_window_join(npu, &conv->window, rows)) {
        return false;
    }
    for (uint32_t oy = 0; oy < ofm->height; oy += rows) {
        if (!npu_kernel_window_advance(npu, &conv->window, oy)) {
            return false;
        }
        if (rows > 1) {
            uint32_t rest = ofm->height - oy;
            if (!write_joined(npu, conv, layout, oy, rest < rows ? rest : rows, sums)) {
                return false;
            }
            continue;
        }
        for (uint32_t ox = 0; ox < ofm->width;) {
            uint32_t rest = ofm->width - ox;
            uint32_t count = rest < BLOCK_PIXELS ? rest : BLOCK_PIXELS;
            uint32_t done = conv->quick
                                ? write_quickly(npu, conv, layout, oy, ox, count, sums)
                                : write_exactly(npu, conv, layout, oy, ox, count, acc, sums);
            if (done == 0 || npu_should_abort(npu)) {
                return false;
            }
            ox += done;
        }
    }
    return true;
}

/** Load weights and scales. narrow: set to whether npu_dot() can use the weights. */
static bool load_weights(struct npu *npu, struct npu_convolution *conv, bool *narrow)
{
    const struct npu_op *op = conv->op;
    int64_t largest = WEIGHT_LIMIT;
    if (!npu_scales_map(npu, op, &conv->records)) {
        return false;
    }
    if (op->param == WEIGHTS_FROM_IFM2) {
        conv->weights = npu_matmul_weights(npu, op);
        largest = npu_map_largest(&op->ifm2);
    } else {
        conv->constant = npu_weights_load(npu, &op->weights);
        conv->weights = conv->constant == NULL ? NULL : conv->constant->plain;
    }
    *narrow = largest <= WEIGHT_LIMIT && npu_map_fits_16(&op->ifm);
    return conv->weights != NULL;
}

/** Decide whether and how to use npu_dot(). */
static bool make_layout(struct npu *npu, struct npu_convolution *conv, bool narrow,
                        struct npu_layout *layout)
{
    const struct npu_op *op = conv->op;
    if (!narrow) {
        return true;
    }
    layout->sum_limit = npu_sum_limit(&op->ifm);
    if (!npu_layout_runs(npu, op, layout)) {
        return false;
    }
    conv->quick = (int64_t)layout->inputs <= layout->sum_limit &&
                  npu_accumulators_plain(&op->accumulators) &&
                  npu_requant_open_channels(npu, &conv->requant, op, &conv->records, conv->constant,
                                            npu_largest_sum(&op->ifm, layout->inputs));
    return npu_layout_pack(npu, conv, layout);
}

static enum npu_row_element row_element(bool narrow, const struct npu_layout *layout)
{
    if (!narrow) {
        return NPU_ROW_32;
    }
    return layout->packing == NPU_PACKED_QUADS ? NPU_ROW_8 : NPU_ROW_16;
}

/** The exact path needs all scales. */
static bool load_scales(struct npu *npu, struct npu_convolution *conv)
{
    conv->scales = conv->quick ? NULL : npu_scales_decode(npu, conv->op, &conv->records);
    return conv->quick || conv->scales != NULL;
}

static bool execute(struct npu *npu, const struct npu_op *op)
{
    struct npu_convolution conv = {.op = op,
                                   .bricks = npu_divide_up(op->output.map.depth, NPU_BRICK)};
    struct npu_layout layout = {0};
    bool narrow = false;
    return load_weights(npu, &conv, &narrow) &&
           npu_accumulators_open(npu, op, &conv.accumulators) &&
           make_layout(npu, &conv, narrow, &layout) &&
           npu_kernel_window_open(npu, &op->kernel, &op->ifm, row_element(narrow, &layout),
                                  &conv.window) &&
           load_scales(npu, &conv) && run_rows(npu, &conv, &layout);
}

bool npu_decode_conv(struct npu *npu, struct npu_op *op)
{
    if (!npu_decode_output(npu, op) || !npu_decode_kernel(npu, op) ||
        !npu_decode_accumulators(npu, op)) {
        return false;
    }
    if (op->ifm.bits > 16) {
        return npu_fail(npu, NPU_FAULT_PARSE, "has a 32-bit IFM, not supported");
    }
    if (op->output.global_scale && !npu->product->family->all_cores) {
        return npu_fail(npu, NPU_FAULT_PARSE,
                        "has OFM_SCALE instead of per-channel scales, not supported");
    }
    bool wide = op->accumulators.bits > 32;
    op->output_class = wide ? NPU_OUTPUT_MUL_OR_ACC40 : NPU_OUTPUT_OTHER;
    return npu_decode_scales(npu, op);
}

static bool decode(struct npu *npu, struct npu_op *op)
{
    if (!npu_decode_conv(npu, op)) {
        return false;
    }
    op->inputs = op->ifm.depth;
    op->spans_depth = true;
    if (op->param != WEIGHTS_FROM_IFM2) {
        return npu_decode_weights(npu, op, false);
    }
    if (op->accumulators.input == NPU_ACC_IFM2) {
        return npu_fail(npu, NPU_FAULT_PARSE, "takes both weights and accumulators from IFM2");
    }
    return npu_decode_matmul(npu, op);
}

const struct npu_operator npu_conv = {decode, execute};
