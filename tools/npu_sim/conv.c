// SPDX-License-Identifier: MIT
/**
 * NPU_OP_CONV. One exact path for every IFM (64-bit sums of 32-bit inputs), and
 * the one that matters: 16-bit inputs, whose products are summed in 32 bits by
 * npu_dot() over as many inputs as can't overflow.
 */
#include <string.h>

#include "accumulators.h"
#include "conv.h"
#include "dot.h"
#include "matmul.h"
#include "npu_internal.h"
#include "operation.h"
#include "output.h"
#include "requant.h"
#include "weights.h"
#include "window.h"

enum {
    WEIGHT_LIMIT = 255,
    RUN_MAX = 256,      /**< inputs of a run: safe for any 16-bit input */
    BLOCK_PIXELS = 256, /**< computed together: their sums stay in the first cache */
};

struct conv {
    struct npu_output output;
    struct npu_kernel_window window;
    const struct npu_channel_scale *scales;
    struct npu_weights *constant; /**< NULL: the weights come from IFM2 */
    const int16_t *weights;       /**< [channel][tap][input] */
    struct npu_accumulators accumulators;
    size_t bricks; /**< of OFM channels */
    bool quick;    /**< all sums fit 32 bits and requant is exact */
    struct npu_requant requant;
};

/** A run of inputs in the kernel window. */
struct run {
    uint32_t ky;
    uint32_t offset; /**< elements from the start of the padded row */
    uint32_t inputs;
    uint32_t weight; /**< of its first input, within a channel */
};

/** How npu_dot() sees the convolution. */
struct plan {
    struct run *runs;
    struct npu_dot_run *dots;
    size_t inputs; /**< of all runs */
    uint32_t run_count;
    size_t pairs;          /**< of all runs */
    int64_t sum_limit;     /**< inputs that one 32-bit sum may cover */
    const int16_t *packed; /**< [channel block][run][pair][lanes][2] */
};

static size_t divide_up(size_t value, size_t unit)
{
    return (value + unit - 1) / unit;
}

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

static void add_runs(const struct npu_kernel_window *window, struct plan *plan, uint32_t ky,
                     uint32_t offset, uint32_t inputs, uint32_t weight)
{
    (void)window;
    while (inputs > 0) {
        uint32_t length = inputs < RUN_MAX ? inputs : RUN_MAX;
        plan->runs[plan->run_count++] = (struct run){ky, offset, length, weight};
        plan->pairs += divide_up(length, NPU_DOT_PAIR);
        plan->inputs += length;
        offset += length;
        weight += length;
        inputs -= length;
    }
}

/** Taps beside each other make one run, unless dilation puts a gap between
 * them. */
static bool plan_runs(struct npu *npu, const struct npu_kernel_window *window, struct plan *plan)
{
    uint32_t depth = window->ifm.depth;
    bool gaps = window->dilation_x > 1;
    uint32_t pieces = gaps ? window->kernel_width : 1;
    size_t inputs = (size_t)(gaps ? 1 : window->kernel_width) * depth;
    size_t count = (size_t)window->kernel_height * pieces * divide_up(inputs, RUN_MAX);
    plan->runs =
        npu_scratch_get(npu, NPU_BUFFER_RUNS, count, sizeof *plan->runs + sizeof *plan->dots);
    if (plan->runs == NULL) {
        return false;
    }
    plan->dots = (struct npu_dot_run *)(void *)(plan->runs + count);
    for (uint32_t ky = 0; ky < window->kernel_height; ky++) {
        for (uint32_t piece = 0; piece < pieces; piece++) {
            uint32_t offset = piece * window->dilation_x * depth;
            uint32_t weight = (ky * window->kernel_width + piece) * depth;
            add_runs(window, plan, ky, offset, (uint32_t)inputs, weight);
        }
    }
    return true;
}

/** Zeroed room for packed weights, which outlives the operation if they are constant. */
static int16_t *get_packed(struct npu *npu, const struct conv *conv, size_t count)
{
    int16_t *packed;
    if (conv->constant != NULL) {
        packed = npu_cache_pack(&npu->weights, conv->constant, count);
    } else {
        packed = npu_scratch_get(npu, NPU_BUFFER_PACKED, count, sizeof *packed);
        if (packed != NULL) {
            memset(packed, 0, count * sizeof *packed);
        }
    }
    if (packed == NULL) {
        npu_fail(npu, NPU_FAULT_PARSE, "no host memory for its weights");
    }
    return packed;
}

/** Interleave the weights as npu_dot() wants them; what sticks out is 0. */
static bool pack_weights(struct npu *npu, const struct conv *conv, struct plan *plan)
{
    const struct npu_kernel_window *window = &conv->window;
    size_t channels = conv->output.map.depth;
    size_t blocks = divide_up(channels, NPU_DOT_LANES);
    size_t per_block = plan->pairs * NPU_DOT_LANES * NPU_DOT_PAIR;
    size_t per_channel = (size_t)window->kernel_height * window->kernel_width * window->ifm.depth;
    if (conv->constant != NULL && conv->constant->packed != NULL) {
        plan->packed = conv->constant->packed;
        return true;
    }
    int16_t *packed = get_packed(npu, conv, blocks * per_block);
    plan->packed = packed;
    if (packed == NULL) {
        return false;
    }
    for (size_t channel = 0; channel < channels; channel++) {
        const int16_t *source = conv->weights + channel * per_channel;
        int16_t *target =
            packed + channel / NPU_DOT_LANES * per_block + channel % NPU_DOT_LANES * NPU_DOT_PAIR;
        for (uint32_t r = 0; r < plan->run_count; r++) {
            const struct run *run = &plan->runs[r];
            for (uint32_t i = 0; i < run->inputs; i++) {
                target[(size_t)(i / 2) * NPU_DOT_LANES * 2 + i % 2] = source[run->weight + i];
            }
            target += divide_up(run->inputs, 2) * NPU_DOT_LANES * 2;
        }
    }
    return true;
}

/** Point the dot runs at the window of pixel (oy, ox). */
static void aim(const struct conv *conv, struct plan *plan, uint32_t oy, uint32_t ox)
{
    const struct npu_kernel_window *window = &conv->window;
    size_t start = (size_t)ox * window->stride_x * window->ifm.depth;
    for (uint32_t r = 0; r < plan->run_count; r++) {
        const int16_t *row = npu_kernel_window_row(window, oy, plan->runs[r].ky);
        plan->dots[r].input = row + start + plan->runs[r].offset;
        plan->dots[r].pairs = (uint32_t)divide_up(plan->runs[r].inputs, 2);
    }
}

/** Runs from first on that one 32-bit sum may cover; their pairs go to *pairs.
 */
static uint32_t runs_per_sum(const struct plan *plan, uint32_t first, size_t *pairs)
{
    int64_t inputs = 0;
    uint32_t run = first;
    *pairs = 0;
    while (run < plan->run_count &&
           (run == first || inputs + plan->runs[run].inputs <= plan->sum_limit)) {
        inputs += plan->runs[run].inputs;
        *pairs += plan->dots[run].pairs;
        run++;
    }
    return run - first;
}

/** 32-bit sums of count pixels over some runs, one brick of channels. */
static void sum_runs(const struct conv *conv, const struct plan *plan, uint32_t run, uint32_t runs,
                     size_t pairs_before, size_t brick, uint32_t count, int32_t *sums)
{
    const int16_t *weights =
        plan->packed + (brick * plan->pairs + pairs_before) * NPU_DOT_LANES * NPU_DOT_PAIR;
    size_t pixel_step = (size_t)conv->window.stride_x * conv->window.ifm.depth;
    npu_dot(plan->dots + run, runs, pixel_step, weights, count, sums);
}

/** Accumulate count pixels from the aimed one on, one brick of channels, into
 * acc. */
static void accumulate_brick(const struct conv *conv, const struct plan *plan, size_t brick,
                             uint32_t count, int64_t *acc, int32_t *sums)
{
    size_t depth = conv->output.map.depth;
    size_t first = brick * NPU_BRICK;
    size_t channels = depth - first < NPU_BRICK ? depth - first : NPU_BRICK;
    size_t done = 0;
    for (uint32_t run = 0; run < plan->run_count;) {
        size_t pairs;
        uint32_t runs = runs_per_sum(plan, run, &pairs);
        sum_runs(conv, plan, run, runs, done, brick, count, sums);
        for (uint32_t p = 0; p < count; p++) {
            for (size_t c = 0; c < channels; c++) {
                acc[p * depth + first + c] += sums[p * NPU_BRICK + c];
            }
        }
        done += pairs;
        run += runs;
    }
}

/** Accumulate count pixels from the aimed one on, all channels. */
static void accumulate(const struct conv *conv, const struct plan *plan, uint32_t count,
                       int64_t *acc, int32_t *sums)
{
    for (size_t brick = 0; brick < conv->bricks; brick++) {
        accumulate_brick(conv, plan, brick, count, acc, sums);
    }
}

/** The exact path for inputs wider than 16 bits. */
static void accumulate_wide(const struct conv *conv, uint32_t oy, uint32_t ox, uint32_t count,
                            int64_t *acc)
{
    const struct npu_kernel_window *window = &conv->window;
    size_t depth = window->ifm.depth;
    for (uint32_t p = 0; p < count; p++) {
        const int16_t *weight = conv->weights;
        for (uint32_t c = 0; c < conv->output.map.depth; c++) {
            int64_t sum = 0;
            for (uint32_t ky = 0; ky < window->kernel_height; ky++) {
                const int32_t *row = npu_kernel_window_row(window, oy, ky);
                for (uint32_t kx = 0; kx < window->kernel_width; kx++) {
                    const int32_t *input =
                        row +
                        ((size_t)(ox + p) * window->stride_x + kx * window->dilation_x) * depth;
                    for (size_t i = 0; i < depth; i++) {
                        sum += (int64_t)input[i] * *weight++;
                    }
                }
            }
            *acc++ += sum;
        }
    }
}

/** Write pixels of row oy from ox on, at most count; returns how many, 0 after
 * a fault. */
static uint32_t write_quickly(struct npu *npu, const struct conv *conv, struct plan *plan,
                              uint32_t oy, uint32_t ox, uint32_t count, int32_t *sums)
{
    struct npu_span span;
    if (!npu_open_pixels(npu, &conv->output.map, oy, ox, count, &span)) {
        return 0;
    }
    aim(conv, plan, oy, ox);
    for (size_t brick = 0; brick < conv->bricks; brick++) {
        sum_runs(conv, plan, 0, plan->run_count, 0, brick, span.pixels, sums);
        npu_requant(&conv->requant, brick, span.pixels, sums);
        npu_store_brick(&conv->output.map, &span, brick, sums);
    }
    return span.pixels;
}

/** The same for any inputs. */
static uint32_t write_exactly(struct npu *npu, const struct conv *conv, struct plan *plan,
                              uint32_t oy, uint32_t ox, uint32_t count, int64_t *acc, int32_t *sums)
{
    if (!npu_accumulators_start(npu, &conv->accumulators, oy, ox, count, acc)) {
        return 0;
    }
    if (conv->window.narrow) {
        aim(conv, plan, oy, ox);
        accumulate(conv, plan, count, acc, sums);
    } else {
        accumulate_wide(conv, oy, ox, count, acc);
    }
    if (npu_accumulators_leave(&conv->accumulators, oy, ox, count, acc)) {
        return count;
    }
    npu_scale_channels(acc, count, conv->output.map.depth, conv->scales, conv->accumulators.bits,
                       conv->output.rounding);
    return npu_output_write(npu, &conv->output, oy, ox, count, acc) ? count : 0;
}

static bool run_rows(struct npu *npu, struct conv *conv, struct plan *plan)
{
    const struct npu_feature_map *ofm = &conv->output.map;
    int64_t *acc = npu_scratch_get(npu, NPU_BUFFER_ACC, BLOCK_PIXELS, ofm->depth * sizeof *acc);
    int32_t *sums = npu_scratch_get(npu, NPU_BUFFER_SUMS, BLOCK_PIXELS, NPU_BRICK * sizeof *sums);
    if (acc == NULL || sums == NULL) {
        return false;
    }
    for (uint32_t oy = 0; oy < ofm->height; oy++) {
        if (!npu_kernel_window_advance(npu, &conv->window, oy)) {
            return false;
        }
        for (uint32_t ox = 0; ox < ofm->width;) {
            uint32_t rest = ofm->width - ox;
            uint32_t count = rest < BLOCK_PIXELS ? rest : BLOCK_PIXELS;
            uint32_t done = conv->quick ? write_quickly(npu, conv, plan, oy, ox, count, sums)
                                        : write_exactly(npu, conv, plan, oy, ox, count, acc, sums);
            if (done == 0 || npu_should_abort(npu)) {
                return false;
            }
            ox += done;
        }
    }
    return true;
}

/** Bring weights and scales. narrow: set whether npu_dot() can have the weights. */
static bool load_weights(struct npu *npu, struct conv *conv, bool from_ifm2, bool *narrow)
{
    uint32_t channels = conv->output.map.depth;
    int64_t largest = WEIGHT_LIMIT;
    int16_t *variable = NULL;
    conv->scales = npu_scales_load(npu, channels, conv->output.global_scale);
    if (conv->scales == NULL) {
        return false;
    }
    if (from_ifm2) {
        if (!npu_matmul_weights(npu, &conv->window, channels, &variable, &largest)) {
            return false;
        }
        conv->weights = variable;
    } else {
        conv->constant = npu_weights_load(npu, &conv->window, channels, false);
        conv->weights = conv->constant == NULL ? NULL : conv->constant->plain;
    }
    *narrow = largest <= WEIGHT_LIMIT && npu_map_fits_16(&conv->window.ifm);
    return conv->weights != NULL;
}

/** Decide how npu_dot() is to be used, if it is. */
static bool make_plan(struct npu *npu, struct conv *conv, struct plan *plan)
{
    const struct npu_feature_map *ifm = &conv->window.ifm;
    if (!conv->window.narrow) {
        return true;
    }
    plan->sum_limit = npu_sum_limit(ifm);
    if (!plan_runs(npu, &conv->window, plan) || !pack_weights(npu, conv, plan)) {
        return false;
    }
    conv->quick =
        (int64_t)plan->inputs <= plan->sum_limit && npu_accumulators_plain(&conv->accumulators) &&
        npu_requant_open_channels(npu, &conv->requant, &conv->output, conv->scales,
                                  conv->accumulators.bits, npu_largest_sum(ifm, plan->inputs));
    return true;
}

static bool open_operation(struct npu *npu, struct conv *conv)
{
    const struct npu_feature_map *ofm = &conv->output.map;
    if (!npu_output_open(npu, &conv->output) ||
        !npu_kernel_window_open(npu, &conv->window, ofm->height, ofm->width) ||
        !npu_accumulators_open(npu, &conv->output, &conv->accumulators)) {
        return false;
    }
    conv->bricks = divide_up(ofm->depth, NPU_BRICK);
    return npu_check_scaling(npu, &conv->output, &conv->window.ifm);
}

bool npu_check_scaling(struct npu *npu, const struct npu_output *output,
                       const struct npu_feature_map *ifm)
{
    bool global = output->global_scale && !npu->product->family->all_cores;
    return (ifm->bits <= 16 && !global) ||
           npu_fail(npu, NPU_FAULT_PARSE, "has %s, not supported",
                    global ? "OFM_SCALE instead of per-channel scales" : "a 32-bit IFM");
}

bool npu_op_conv(struct npu *npu, uint32_t param)
{
    struct conv conv = {0};
    struct plan plan = {0};
    bool narrow = false;
    bool from_ifm2 = param != 0;
    if (!open_operation(npu, &conv)) {
        return false;
    }
    if (from_ifm2 && conv.accumulators.input == NPU_ACC_IFM2) {
        return npu_fail(npu, NPU_FAULT_PARSE, "takes both weights and accumulators from IFM2");
    }
    return load_weights(npu, &conv, from_ifm2, &narrow) &&
           npu_kernel_window_prepare(npu, &conv.window, narrow) && make_plan(npu, &conv, &plan) &&
           run_rows(npu, &conv, &plan) && npu_output_close(npu, &conv.output) &&
           npu_operation_done(
               npu, &(struct npu_work){.ifm = &conv.window.ifm,
                                       .ofm = &conv.output.map,
                                       .window = &conv.window,
                                       .inputs = conv.window.ifm.depth,
                                       .output_class = conv.accumulators.bits == 32
                                                           ? NPU_OUTPUT_OTHER
                                                           : NPU_OUTPUT_MUL_OR_ACC40,
                                       .tables = conv.output.activation != NPU_ACTIVATION_NONE});
}
