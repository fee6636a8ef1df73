// SPDX-License-Identifier: MIT
/**
 * CMSIS-NN instead of our own loops; see cmsis_nn.h.
 *
 * CMSIS-NN rounds as TensorFlow Lite's reference does (twice, unless it is
 * compiled with CMSIS_NN_USE_SINGLE_ROUNDING). Where its results would differ,
 * a condition selects our own loops and says why.
 *
 * Before each call CMSIS-NN is asked how much scratch it needs: a version that
 * needs more than was planned (cmsis_nn_scratch.c) is not called.
 */
#ifdef ETHOSU_CMSIS_NN
#include "cmsis_nn.h"

#include <arm_nnfunctions.h>

#ifdef CMSIS_NN_USE_SINGLE_ROUNDING
#error "CMSIS_NN_USE_SINGLE_ROUNDING: results would differ from TensorFlow Lite's reference"
#endif

/** Up to this many products of int16 and int8, a sum fits into CMSIS-NN's 32 bits. */
#define MOST_TAPS_16 511

// --- What all share ----------------------------------------------------------

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
 * Are sums of int16 exact? CMSIS-NN stores them in 32 bits before it adds the
 * bias, and cuts values to 31 bits before it rounds.
 */
static bool is_exact_16(const struct weighted_call *p, int32_t taps)
{
    return p->weighted.mode == SUM_16 && p->weighted.narrow && taps <= MOST_TAPS_16;
}

static bool has_room(const struct weighted_call *p, int32_t needed)
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
        !has_room(p, arm_convolve_wrapper_s16_get_buffer_size(&params, &shapes.input,
                                                              &shapes.filter, &shapes.output))) {
        return false;
    }
    return arm_convolve_wrapper_s16(&scratch, &params, &scales, &shapes.input, p->input,
                                    &shapes.filter, p->filter, &shapes.bias, &bias, &shapes.output,
                                    p->output) == ARM_CMSIS_NN_SUCCESS;
}

bool cmsis_nn_conv(const struct weighted_call *p)
{
    struct shapes shapes = shapes_of(p);
    cmsis_nn_conv_params params = conv_params_of(p);
    cmsis_nn_per_channel_quant_params scales = scales_of(p);
    cmsis_nn_context scratch = scratch_of(p);
    // With groups it reads biases even if there are none; with one line it reads a whole window
    // even if the line is shorter.
    bool astray =
        (p->filter_depth != p->depth && p->weighted.bias == NULL) ||
        (p->window.y.input == 1 && p->window.y.size == 1 && p->window.x.input < p->window.x.size);
    if (!is_small(p) || astray) {
        return false;
    }
    if (p->wide) {
        return conv_16(p);
    }
    if (!has_room(p, arm_convolve_wrapper_s8_get_buffer_size(&params, &shapes.input, &shapes.filter,
                                                             &shapes.output))) {
        return false;
    }
    return arm_convolve_wrapper_s8(&scratch, &params, &scales, &shapes.input, p->input,
                                   &shapes.filter, p->filter, &shapes.bias, p->weighted.bias,
                                   &shapes.output, p->output) == ARM_CMSIS_NN_SUCCESS;
}

// --- DEPTHWISE_CONV_2D -------------------------------------------------------

bool cmsis_nn_depthwise_conv(const struct weighted_call *p)
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
    if (!is_small(p)) {
        return false;
    }
    if (p->wide) {
        return is_exact_16(p, (int32_t)cmsis_nn_positions(p)) &&
               has_room(p, arm_depthwise_conv_wrapper_s16_get_buffer_size(
                               &params, &shapes.input, &shapes.filter, &shapes.output)) &&
               arm_depthwise_conv_wrapper_s16(&scratch, &params, &scales, &shapes.input, p->input,
                                              &shapes.filter, p->filter, &shapes.bias,
                                              p->weighted.bias, &shapes.output,
                                              p->output) == ARM_CMSIS_NN_SUCCESS;
    }
    return has_room(p, arm_depthwise_conv_wrapper_s8_get_buffer_size(
                           &params, &shapes.input, &shapes.filter, &shapes.output)) &&
           arm_depthwise_conv_wrapper_s8(&scratch, &params, &scales, &shapes.input, p->input,
                                         &shapes.filter, p->filter, &shapes.bias, p->weighted.bias,
                                         &shapes.output, p->output) == ARM_CMSIS_NN_SUCCESS;
}

// --- FULLY_CONNECTED ---------------------------------------------------------

static bool fully_connected_16(const struct weighted_call *p, const struct shapes *shapes,
                               const cmsis_nn_fc_params *params)
{
    cmsis_nn_context scratch = scratch_of(p);
    // For int16 it supports one scale and no zero point of the weights.
    if (p->weighted.per_channel || p->filter_offset != 0 || !is_exact_16(p, p->depth)) {
        return false;
    }
    cmsis_nn_per_tensor_quant_params scale = {p->weighted.multipliers[0], p->weighted.shifts[0]};
    return arm_fully_connected_s16(&scratch, params, &scale, &shapes->input, p->input,
                                   &shapes->filter, p->filter, &shapes->bias, p->weighted.bias,
                                   &shapes->output, p->output) == ARM_CMSIS_NN_SUCCESS;
}

bool cmsis_nn_fully_connected(const struct weighted_call *p)
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
    cmsis_nn_quant_params each = {scales.multiplier, scales.shift, p->weighted.per_channel};
    cmsis_nn_context scratch = scratch_of(p);
    if (!has_room(p, arm_fully_connected_s8_get_buffer_size(&shapes.filter))) {
        return false;
    }
#if defined(ARM_MATH_MVEI)
    // Biases, and the part of each sum that comes from the zero points.
    arm_vector_sum_s8(scratch.buf, p->depth, p->filters, p->filter, params.input_offset,
                      params.filter_offset, p->weighted.bias);
#endif
    return arm_fully_connected_wrapper_s8(&scratch, &params, &each, &shapes.input, p->input,
                                          &shapes.filter, p->filter, &shapes.bias, p->weighted.bias,
                                          &shapes.output, p->output) == ARM_CMSIS_NN_SUCCESS;
}

// --- TRANSPOSE_CONV ----------------------------------------------------------

/**
 * Does CMSIS-NN write all outputs, and nothing else? It writes whole strides of lines: as many as
 * the input has lines, without the padding; it ignores outputs that no filter reaches.
 */
static bool sums_fit(const struct window *window)
{
    int32_t strides = window->output * window->stride;
    int32_t reach = strides - window->stride + fixed_max(window->size, window->stride);
    return window->pad <= strides && strides <= window->pad + window->input &&
           window->pad + window->input <= reach;
}

bool cmsis_nn_transpose_conv(const struct weighted_call *p)
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
    // Release 7.0.0 writes lines to wrong addresses if the padding is no multiple of the stride.
    bool straight = sums_fit(y) && sums_fit(x) && y->pad % y->stride == 0;
    if (p->wide || !is_small(p) ||
        !(cmsis_nn_is_reversed(p) || straight)) { // not supported for int16
        return false;
    }
    int32_t sums =
        arm_transpose_conv_s8_get_buffer_size(&params, &image, &shapes.filter, &shapes.output);
    int32_t reversed =
        arm_transpose_conv_s8_get_reverse_conv_buffer_size(&params, &image, &shapes.filter);
    if (sums < 0 || reversed < 0 || !has_room(p, sums + reversed)) {
        return false;
    }
    cmsis_nn_context scratch = {p->call.scratch, (int32_t)p->call.scratch_size - reversed};
    cmsis_nn_context filters = {(uint8_t *)p->call.scratch + scratch.size, reversed};
    return arm_transpose_conv_wrapper_s8(&scratch, &filters, &params, &scales, &image, p->input,
                                         &shapes.filter, p->filter, &shapes.bias, p->weighted.bias,
                                         &shapes.output, p->output) == ARM_CMSIS_NN_SUCCESS;
}
#endif
