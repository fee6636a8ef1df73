// SPDX-License-Identifier: MIT
/**
 * Runs CMSIS-NN instead of our own loops; see cmsis_nn.h.
 *
 * CMSIS-NN rounds like TensorFlow Lite's reference (twice, unless compiled with
 * CMSIS_NN_USE_SINGLE_ROUNDING). Where its results would differ, a condition
 * selects our own loops, with a comment on the reason.
 *
 * Before each call, CMSIS-NN reports how much scratch it needs. It is not called
 * if it needs more than was planned (cmsis_nn_scratch.c).
 */
#ifdef ETHOSU_CMSIS_NN
#include "runtime/kernels/weighted/cmsis_nn.h"

#include <arm_nnfunctions.h>

#ifdef CMSIS_NN_USE_SINGLE_ROUNDING
#error "CMSIS_NN_USE_SINGLE_ROUNDING: results would differ from TensorFlow Lite's reference"
#endif

/** Maximum number of int16-by-int8 products whose sum fits into CMSIS-NN's 32 bits. */
#define MAX_TAPS_16 511

// --- Common ------------------------------------------------------------------

/** CMSIS-NN stores some sizes and positions in 16 bits. */
static bool window_is_small(const struct window *window)
{
    int64_t reach = (int64_t)window->size * window->dilation;
    return window->input <= INT16_MAX && window->output <= INT16_MAX && reach <= INT16_MAX &&
           window->stride <= INT16_MAX && window->pad <= INT16_MAX;
}

static bool is_small(const struct weighted_call *p)
{
    return window_is_small(&p->window.y) && window_is_small(&p->window.x) &&
           p->depth <= INT16_MAX && p->filters <= INT16_MAX &&
           (int64_t)cmsis_nn_positions(p) * p->filter_depth <= UINT16_MAX;
}

/**
 * Are int16 sums exact? CMSIS-NN stores them in 32 bits before it adds the bias,
 * and truncates values to 31 bits before it rounds.
 */
static bool is_exact_16(const struct weighted_call *p, int32_t taps)
{
    return p->weighted.mode == SUM_16 && p->weighted.narrow && taps <= MAX_TAPS_16;
}

static bool has_scratch(const struct weighted_call *p, int32_t needed)
{
    return needed >= 0 && (uint32_t)needed <= p->call.scratch_size;
}

static cmsis_nn_context scratch_of(const struct weighted_call *p)
{
    return (cmsis_nn_context){p->call.scratch, (int32_t)p->call.scratch_size};
}

static cmsis_nn_activation activation_of(const struct weighted_call *p)
{
    return (cmsis_nn_activation){p->weighted.range.low, p->weighted.range.high};
}

/** CMSIS-NN declares the tables as writable, but only reads them. */
static cmsis_nn_per_channel_quant_params scales_of(const struct weighted_call *p)
{
    return (cmsis_nn_per_channel_quant_params){(int32_t *)(uintptr_t)p->weighted.multipliers,
                                               (int32_t *)(uintptr_t)p->weighted.shifts};
}

/** Shapes of a convolution, depthwise or not. */
struct shapes {
    cmsis_nn_dims input;
    cmsis_nn_dims filter;
    cmsis_nn_dims bias;
    cmsis_nn_dims output;
};

static struct shapes shapes_of(const struct weighted_call *p)
{
    const struct window *y = &p->window.y;
    const struct window *x = &p->window.x;
    return (struct shapes){
        .input = {.n = p->batches, .h = y->input, .w = x->input, .c = p->depth},
        .filter = {.n = p->filters, .h = y->size, .w = x->size, .c = p->filter_depth},
        .bias = {.n = 1, .h = 1, .w = 1, .c = p->filters},
        .output = {.n = p->batches, .h = y->output, .w = x->output, .c = p->filters},
    };
}

static cmsis_nn_conv_params conv_params_of(const struct weighted_call *p)
{
    const struct window *y = &p->window.y;
    const struct window *x = &p->window.x;
    return (cmsis_nn_conv_params){
        .input_offset = p->weighted.input_offset,
        .output_offset = p->weighted.output_offset,
        .stride = {.w = x->stride, .h = y->stride},
        .padding = {.w = x->pad, .h = y->pad},
        .dilation = {.w = x->dilation, .h = y->dilation},
        .activation = activation_of(p),
    };
}

// --- Parts -------------------------------------------------------------------

// CMSIS-NN does not poll for cancellation, so it computes an operator in parts, with a poll after
// each. The sizes of parts are conservative estimates of instructions on a Cortex-M55, checked by
// test_work.py. Our own loops compute operators that cannot be divided into small enough parts.
enum {
    PART = 1200000,
    LITTLE = PART / 4, /**< does not need a separate poll */
    UNIT = 100,        /**< of struct poll */
    OUTPUT = 30,       /**< to rescale and store a sum */
    POSITION = 32,     /**< to gather the inputs at one of a window's positions */
};

/** Maximum number of lines, rows, images or outputs of a part; tests reduce it to get many parts.
 */
#ifndef CMSIS_NN_MAX
#define CMSIS_NN_MAX INT32_MAX
#endif

/** Computes an operator or a part of it; false if CMSIS-NN does not support it. */
typedef bool part_runs(const struct weighted_call *part);

static bool is_stopped(const struct weighted_call *p)
{
    return kernel_stops(&p->call, POLL_UNITS + 1);
}

/** Is the work, `count` times `each`, small enough for a single part? If so, count it. */
static bool fits_one_part(const struct weighted_call *p, int64_t each, int64_t count)
{
    if (count > CMSIS_NN_MAX || (each != 0 && LITTLE / each < count)) {
        return false;
    }
    (void)kernel_stops(&p->call, (int32_t)(each * count / UNIT));
    return true;
}

/** Number of units of this work per part; 0 if a single one is too long. */
static int32_t max_units_per_part(int64_t work)
{
    return work == 0 ? CMSIS_NN_MAX : fixed_min((int32_t)(PART / work), CMSIS_NN_MAX);
}

/** Compute lines of the output; `work` is per pixel. */
static bool run_lines(const struct weighted_call *p, int64_t work, part_runs *run)
{
    const struct window *y = &p->window.y;
    size_t line_in = ((size_t)p->window.x.input * (size_t)p->depth) << p->wide;
    size_t line_out = ((size_t)p->window.x.output * (size_t)p->filters) << p->wide;
    work *= p->window.x.output;
    if (fits_one_part(p, work, (int64_t)p->batches * y->output)) {
        return run(p);
    }
    int32_t most = max_units_per_part(work);
    if (most == 0) {
        return false;
    }
    bool stops = is_stopped(p);
    for (int32_t i = 0; i < p->batches * y->output && !stops;) {
        struct weighted_call part = *p;
        int32_t line = i % y->output;
        int32_t origin = window_origin(y, line);
        int32_t skipped = fixed_max(origin, 0);
        int32_t first = i / y->output * y->input + skipped;
        part.batches = 1;
        part.window.y.output = fixed_min(most, y->output - line);
        part.window.y.pad = skipped - origin;
        // Pass only the needed lines: with a 1x1 filter CMSIS-NN computes all lines of the input.
        int32_t last = (part.window.y.output - 1) * y->stride + (y->size - 1) * y->dilation;
        part.window.y.input = fixed_min(y->input, origin + last + 1) - skipped;
        part.input = (const uint8_t *)p->input + (size_t)first * line_in;
        part.output = (uint8_t *)p->output + (size_t)i * line_out;
        if (!run(&part)) {
            return false;
        }
        i += part.window.y.output;
        stops = is_stopped(p);
    }
    return true;
}

/** Compute rows or images of the output; `work` is per row or image. */
static bool run_batches(const struct weighted_call *p, int64_t work, size_t size_in,
                        size_t size_out, part_runs *run)
{
    if (fits_one_part(p, work, p->batches)) {
        return run(p);
    }
    int32_t most = max_units_per_part(work);
    if (most == 0) {
        return false;
    }
    bool stops = is_stopped(p);
    for (int32_t i = 0; i < p->batches && !stops;) {
        struct weighted_call part = *p;
        part.batches = fixed_min(most, p->batches - i);
        part.input = (const uint8_t *)p->input + ((size_t)i * size_in << p->wide);
        part.output = (uint8_t *)p->output + ((size_t)i * size_out << p->wide);
        if (!run(&part)) {
            return false;
        }
        i += part.batches;
        stops = is_stopped(p);
    }
    return true;
}

// --- CONV_2D -----------------------------------------------------------------

static bool conv_16(const struct weighted_call *p)
{
    struct shapes shapes = shapes_of(p);
    cmsis_nn_conv_params params = conv_params_of(p);
    cmsis_nn_per_channel_quant_params scales = scales_of(p);
    cmsis_nn_context scratch = scratch_of(p);
    cmsis_nn_bias_data bias = {p->weighted.bias, p->weighted.mode == SUM_16_32};
    int32_t taps = (int32_t)cmsis_nn_positions(p) * p->filter_depth;
    bool grouped = p->filter_depth != p->depth; // not supported for int16
    if (grouped || !(bias.is_int32_bias || is_exact_16(p, taps)) ||
        !has_scratch(p, arm_convolve_wrapper_s16_get_buffer_size(&params, &shapes.input,
                                                                 &shapes.filter, &shapes.output))) {
        return false;
    }
    return arm_convolve_wrapper_s16(&scratch, &params, &scales, &shapes.input, p->input,
                                    &shapes.filter, p->filter, &shapes.bias, &bias, &shapes.output,
                                    p->output) == ARM_CMSIS_NN_SUCCESS;
}

static bool conv(const struct weighted_call *p)
{
    struct shapes shapes = shapes_of(p);
    cmsis_nn_conv_params params = conv_params_of(p);
    cmsis_nn_per_channel_quant_params scales = scales_of(p);
    cmsis_nn_context scratch = scratch_of(p);
    // With groups, it reads biases even if there are none. With one line, it reads a whole window
    // even if the line is shorter, and with MVE it exceeds the line if the stride is not 1.
    bool one_line = p->window.y.input == 1 && p->window.y.size == 1;
    bool reads_outside =
        (p->filter_depth != p->depth && p->weighted.bias == NULL) ||
        (one_line && (p->window.x.input < p->window.x.size || p->window.x.stride != 1));
    if (reads_outside) {
        return false;
    }
    if (p->wide) {
        return conv_16(p);
    }
    if (!has_scratch(p, arm_convolve_wrapper_s8_get_buffer_size(&params, &shapes.input,
                                                                &shapes.filter, &shapes.output))) {
        return false;
    }
    return arm_convolve_wrapper_s8(&scratch, &params, &scales, &shapes.input, p->input,
                                   &shapes.filter, p->filter, &shapes.bias, p->weighted.bias,
                                   &shapes.output, p->output) == ARM_CMSIS_NN_SUCCESS;
}

bool cmsis_nn_conv(const struct weighted_call *p)
{
    int64_t positions = cmsis_nn_positions(p);
    int64_t gathered = positions * (p->depth / p->filter_depth) * POSITION;
    return is_small(p) &&
           run_lines(p, gathered + p->filters * (OUTPUT + positions * p->filter_depth / 2), conv);
}

// --- DEPTHWISE_CONV_2D -------------------------------------------------------

static bool depthwise_conv(const struct weighted_call *p)
{
    struct shapes shapes = shapes_of(p);
    cmsis_nn_conv_params conv = conv_params_of(p);
    cmsis_nn_per_channel_quant_params scales = scales_of(p);
    cmsis_nn_context scratch = scratch_of(p);
    cmsis_nn_dw_conv_params params = {
        .input_offset = conv.input_offset,
        .output_offset = conv.output_offset,
        .ch_mult = p->filters / p->depth,
        .stride = conv.stride,
        .padding = conv.padding,
        .dilation = conv.dilation,
        .activation = conv.activation,
    };
    shapes.filter.n = 1;
    shapes.filter.c = p->filters;
    if (p->wide) {
        return is_exact_16(p, (int32_t)cmsis_nn_positions(p)) &&
               has_scratch(p, arm_depthwise_conv_wrapper_s16_get_buffer_size(
                                  &params, &shapes.input, &shapes.filter, &shapes.output)) &&
               arm_depthwise_conv_wrapper_s16(&scratch, &params, &scales, &shapes.input, p->input,
                                              &shapes.filter, p->filter, &shapes.bias,
                                              p->weighted.bias, &shapes.output,
                                              p->output) == ARM_CMSIS_NN_SUCCESS;
    }
    return has_scratch(p, arm_depthwise_conv_wrapper_s8_get_buffer_size(
                              &params, &shapes.input, &shapes.filter, &shapes.output)) &&
           arm_depthwise_conv_wrapper_s8(&scratch, &params, &scales, &shapes.input, p->input,
                                         &shapes.filter, p->filter, &shapes.bias, p->weighted.bias,
                                         &shapes.output, p->output) == ARM_CMSIS_NN_SUCCESS;
}

bool cmsis_nn_depthwise_conv(const struct weighted_call *p)
{
    int64_t products = 8 * (int64_t)cmsis_nn_positions(p);
    return is_small(p) && run_lines(p, p->filters * (OUTPUT + products), depthwise_conv);
}

// --- FULLY_CONNECTED ---------------------------------------------------------

static bool fully_connected_16(const struct weighted_call *p, const struct shapes *shapes,
                               const cmsis_nn_fc_params *params)
{
    cmsis_nn_context scratch = scratch_of(p);
    // For int16 it supports only a single scale, and weights without a zero point.
    if (p->weighted.per_channel || p->filter_offset != 0 || !is_exact_16(p, p->depth)) {
        return false;
    }
    cmsis_nn_per_tensor_quant_params scale = {p->weighted.multipliers[0], p->weighted.shifts[0]};
    return arm_fully_connected_s16(&scratch, params, &scale, &shapes->input, p->input,
                                   &shapes->filter, p->filter, &shapes->bias, p->weighted.bias,
                                   &shapes->output, p->output) == ARM_CMSIS_NN_SUCCESS;
}

static bool fully_connected(const struct weighted_call *p)
{
    struct shapes shapes = {
        .input = {.n = p->batches, .h = 1, .w = 1, .c = p->depth},
        .filter = {.n = p->depth, .h = 1, .w = 1, .c = p->filters},
        .bias = {.n = 1, .h = 1, .w = 1, .c = p->filters},
        .output = {.n = p->batches, .h = 1, .w = 1, .c = p->filters},
    };
    cmsis_nn_fc_params params = {
        .input_offset = p->weighted.input_offset,
        .filter_offset = p->filter_offset,
        .output_offset = p->weighted.output_offset,
        .activation = activation_of(p),
    };
    if (p->wide) {
        return fully_connected_16(p, &shapes, &params);
    }
    cmsis_nn_per_channel_quant_params scales = scales_of(p);
    cmsis_nn_quant_params quant = {scales.multiplier, scales.shift, p->weighted.per_channel};
    cmsis_nn_context scratch = scratch_of(p);
    if (!has_scratch(p, arm_fully_connected_s8_get_buffer_size(&shapes.filter))) {
        return false;
    }
#if defined(ARM_MATH_MVEI)
    // Biases, and the part of each sum that comes from the zero points.
    arm_vector_sum_s8(scratch.buf, p->depth, p->filters, p->filter, params.input_offset,
                      params.filter_offset, p->weighted.bias);
#endif
    return arm_fully_connected_wrapper_s8(&scratch, &params, &quant, &shapes.input, p->input,
                                          &shapes.filter, p->filter, &shapes.bias, p->weighted.bias,
                                          &shapes.output, p->output) == ARM_CMSIS_NN_SUCCESS;
}

/** Some of the outputs of one row. */
static void take_filters(struct weighted_call *part, int32_t row, int32_t first, int32_t count)
{
    struct weighted *weighted = &part->weighted;
    size_t bias = weighted->bias_64 ? sizeof(int64_t) : sizeof(int32_t);
    size_t output = (size_t)row * (size_t)part->filters + (size_t)first;
    part->input = (const uint8_t *)part->input + ((size_t)row * (size_t)part->depth << part->wide);
    part->output = (uint8_t *)part->output + (output << part->wide);
    part->filter += (size_t)first * (size_t)part->depth;
    part->filters = count;
    part->batches = 1;
    if (weighted->bias != NULL) {
        weighted->bias = (const uint8_t *)weighted->bias + (size_t)first * bias;
    }
    if (weighted->per_channel) {
        weighted->multipliers += first;
        weighted->shifts += first;
    }
}

bool cmsis_nn_fully_connected(const struct weighted_call *p)
{
    int64_t work = OUTPUT + (int64_t)p->depth;
    int32_t most = max_units_per_part(work);
    if (most == 0 || most >= p->filters) {
        return most != 0 && run_batches(p, work * p->filters, (size_t)p->depth, (size_t)p->filters,
                                        fully_connected);
    }
    // Even one row is too long for a part.
    bool stops = is_stopped(p);
    for (int32_t i = 0; i < p->batches; i++) {
        for (int32_t first = 0; first < p->filters && !stops;) {
            struct weighted_call part = *p;
            take_filters(&part, i, first, fixed_min(most, p->filters - first));
            if (!fully_connected(&part)) {
                return false;
            }
            first += part.filters;
            stops = is_stopped(p);
        }
    }
    return true;
}

// --- TRANSPOSE_CONV ----------------------------------------------------------

/**
 * Does CMSIS-NN write exactly the outputs? It writes whole strides of lines, as many as the input
 * has lines, minus the padding, and ignores outputs that no filter reaches.
 */
static bool sums_fit(const struct window *window)
{
    int32_t strides = window->output * window->stride;
    int32_t reach = strides - window->stride + fixed_max(window->size, window->stride);
    return window->pad <= strides && strides <= window->pad + window->input &&
           window->pad + window->input <= reach;
}

static bool transpose_conv(const struct weighted_call *p)
{
    const struct window *y = &p->window.y;
    const struct window *x = &p->window.x;
    cmsis_nn_transpose_conv_params params = {
        .input_offset = p->weighted.input_offset,
        .output_offset = p->weighted.output_offset,
        .stride = {.w = x->stride, .h = y->stride},
        .padding = {.w = x->pad, .h = y->pad},
        .dilation = {.w = 1, .h = 1},
        .activation = activation_of(p),
    };
    struct shapes shapes = shapes_of(p);
    cmsis_nn_dims image = shapes.output;
    image.c = p->depth;
    shapes.output = shapes.input;
    shapes.output.c = p->filters;
    cmsis_nn_per_channel_quant_params scales = scales_of(p);
    // Release 7.0.0 writes lines to wrong addresses if the padding is not a multiple of the stride.
    bool straight = sums_fit(y) && sums_fit(x) && y->pad % y->stride == 0;
    // Scratch size 0 means that the size of the sums overflows in CMSIS-NN.
    if (!cmsis_nn_is_reversed(p) && (!straight || p->call.scratch_size == 0)) {
        return false;
    }
    int32_t sums =
        arm_transpose_conv_s8_get_buffer_size(&params, &image, &shapes.filter, &shapes.output);
    int32_t reversed =
        arm_transpose_conv_s8_get_reverse_conv_buffer_size(&params, &image, &shapes.filter);
    if (sums < 0 || reversed < 0 || !has_scratch(p, sums + reversed)) {
        return false;
    }
    cmsis_nn_context scratch = {p->call.scratch, (int32_t)p->call.scratch_size - reversed};
    cmsis_nn_context filters = {(uint8_t *)p->call.scratch + scratch.size, reversed};
    return arm_transpose_conv_wrapper_s8(&scratch, &filters, &params, &scales, &image, p->input,
                                         &shapes.filter, p->filter, &shapes.bias, p->weighted.bias,
                                         &shapes.output, p->output) == ARM_CMSIS_NN_SUCCESS;
}

bool cmsis_nn_transpose_conv(const struct weighted_call *p)
{
    const struct window_2d *window = &p->window;
    int64_t image_in = (int64_t)window->y.output * window->x.output;
    int64_t image_out = (int64_t)window->y.input * window->x.input;
    if (p->wide || !is_small(p)) { // not supported for int16
        return false;
    }
    int64_t positions = cmsis_nn_positions(p);
    int64_t products = positions * p->depth / 2;
    if (!cmsis_nn_is_reversed(p)) {
        products = 8 * (positions * p->depth / (window->y.stride * window->x.stride) + 1);
    }
    return run_batches(p, image_out * (positions * POSITION + p->filters * (OUTPUT + products)),
                       (size_t)image_in * (size_t)p->depth, (size_t)image_out * (size_t)p->filters,
                       transpose_conv);
}
#endif
