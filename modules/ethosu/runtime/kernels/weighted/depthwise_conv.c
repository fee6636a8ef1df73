// SPDX-License-Identifier: MIT
/** DEPTHWISE_CONV_2D: each input channel has its own filters. */
#include "runtime/kernels/weighted/cmsis_nn.h"

#include <string.h>

/** Larger windows are summed position by position, polling at each. */
enum { LARGE = 64 };

/** Add the products at one position of the window to the sums of a block of channels. */
static void add_tap_8(const struct weighted_call *p, int32_t *sums, const int8_t *values,
                      const int8_t *weights, int32_t first, int32_t count)
{
    int32_t multiplier = p->filters / p->depth;
    for (int32_t i = 0; i < count; i++) {
        int32_t value = values[(first + i) / multiplier] + p->weighted.input_offset;
        sums[i] += value * weights[first + i];
    }
}

static void add_tap_16(const struct weighted_call *p, int64_t *sums, const int16_t *values,
                       const int8_t *weights, int32_t first, int32_t count)
{
    int32_t multiplier = p->filters / p->depth;
    for (int32_t i = 0; i < count; i++) {
        sums[i] += values[(first + i) / multiplier] * weights[first + i];
    }
}

/** Sum taps [from, to) of the window's line at `line`. */
static inline void sum_line(const struct weighted_call *p, union sums *sums, int32_t line,
                            const int8_t *filter, int32_t x, int32_t from, int32_t to,
                            int32_t first, int32_t count)
{
    const struct window *window = &p->window.x;
    for (int32_t k = from; k < to; k++) {
        int32_t at_x = x + k * window->dilation;
        if (at_x < 0 || at_x >= window->input) {
            continue;
        }
        int32_t pixel = (line * window->input + at_x) * p->depth;
        const int8_t *weights = filter + k * p->filters;
        const int8_t *values = (const int8_t *)p->input + pixel;
        if (p->wide) {
            add_tap_16(p, sums->wide, (const int16_t *)p->input + pixel, weights, first, count);
        } else if (p->filters == p->depth) { // the most common case, vectorised
            add_products_8(sums->narrow, values + first, weights + first, count,
                           p->weighted.input_offset);
        } else {
            add_tap_8(p, sums->narrow, values, weights, first, count);
        }
    }
}

/** Sums of a block of channels, at one position of the window in the image. */
static void sum_block(const struct weighted_call *p, union sums *sums, int32_t image, int32_t y,
                      int32_t x, int32_t first, int32_t count)
{
    const struct window_2d *window = &p->window;
    int32_t width = window->x.size;
    memset(sums, 0, sizeof *sums);
    for (int32_t i = 0; i < window->y.size; i++) {
        int32_t at_y = y + i * window->y.dilation;
        int32_t line = image * window->y.input + at_y;
        const int8_t *filter = p->filter + i * width * p->filters;
        if (kernel_stops(&p->call, width > LARGE ? 1 : 4 * width)) {
            return;
        }
        if (at_y < 0 || at_y >= window->y.input) {
            continue;
        }
        if (width <= LARGE) {
            sum_line(p, sums, line, filter, x, 0, width, first, count);
            continue;
        }
        for (int32_t k = 0; k < width && !kernel_stops(&p->call, 4); k++) {
            sum_line(p, sums, line, filter, x, k, k + 1, first, count);
        }
    }
}

static uint32_t depthwise_scratch(const struct kernel_call *call)
{
    return cmsis_nn_depthwise_conv_scratch((const struct weighted_call *)call);
}

static int run_depthwise(const struct kernel_call *call)
{
    const struct weighted_call *p = (const struct weighted_call *)call;
    const struct window_2d *window = &p->window;
    int32_t pixels = p->batches * window->y.output * window->x.output;
    if (cmsis_nn_depthwise_conv(p)) {
        return ETHOSU_MODEL_OK;
    }
    for (int32_t pixel = 0; pixel < pixels; pixel++) {
        int32_t line = pixel / window->x.output;
        int32_t x = window_origin(&window->x, pixel % window->x.output);
        int32_t y = window_origin(&window->y, line % window->y.output);
        for (int32_t first = 0; first < p->filters; first += SUM_BLOCK) {
            union sums sums;
            int32_t count = fixed_min(SUM_BLOCK, p->filters - first);
            sum_block(p, &sums, line / window->y.output, y, x, first, count);
            weighted_store(p, &sums, first, count, pixel * p->filters + first);
            if (kernel_stops(&p->call, count)) {
                return ETHOSU_MODEL_STOPPED;
            }
        }
    }
    return ETHOSU_MODEL_OK;
}

static bool channels_fit(const struct kernel_tensor *in, const struct kernel_tensor *filter,
                         const struct kernel_tensor *out)
{
    return filter->shape[0] == 1 && filter->shape[3] % in->shape[3] == 0 &&
           out->shape[3] == filter->shape[3];
}

/** The multiplier in the options is ignored: the shapes determine it. */
static const struct weighted_image sliding = {
    .weighted = {.bias_input = 2,
                 .channel_axis = 3,
                 .activation = 4,
                 .bias_type = NO_BIAS_TYPE,
                 .scale_each = KERNEL_BUILD == KERNEL_CMSIS_NN},
    .window = {.padding = 0, .stride_w = 1, .stride_h = 2, .dilation_w = 5, .dilation_h = 6},
    .channels_fit = channels_fit,
};

static int prepare_depthwise(struct builder *builder, const struct tflite_operator_call *call,
                             const struct kernel *kernel)
{
    struct weighted_call p = {0};
    TRY(weighted_image_prepare(builder, call, &sliding, &p));
    p.filter_depth = 1;
    return kernel_add(builder, kernel, &p.call, sizeof p);
}

DEFINE_KERNEL(DEPTHWISE_CONV_2D, .prepare = prepare_depthwise, .scratch = depthwise_scratch,
              .run = run_depthwise);
