// SPDX-License-Identifier: MIT
/**
 * CONV_2D.
 *
 * The inputs under the window are copied into one row (scratch), with the zero
 * point as padding. Each output is one sum of products of that row
 * and a filter. A 1x1 filter needs no copy.
 */
#include "runtime/kernels/weighted/cmsis_nn.h"

#include <string.h>

static uint32_t conv_scratch(const struct kernel_call *call)
{
    const struct weighted_call *p = (const struct weighted_call *)call;
    int32_t taps = p->window.y.size * p->window.x.size;
    uint32_t own = taps == 1 ? 0 : (uint32_t)(taps * p->filter_depth) << p->wide;
    uint32_t library = cmsis_nn_conv_scratch(p);
    return own > library ? own : library;
}

/** Write zero points for padding. */
static void put_zeros(const struct weighted_call *p, uint8_t *to, int32_t count)
{
    if (p->wide) {
        memset(to, 0, (size_t)count * sizeof(int16_t));
    } else {
        memset(to, -p->weighted.input_offset, (size_t)count);
    }
}

/** Gather one line of the window from one line of the image. */
static void gather_line(const struct weighted_call *p, uint8_t *to, const uint8_t *line, int32_t x)
{
    const struct window *window = &p->window.x;
    size_t run = (size_t)p->filter_depth << p->wide;
    size_t pixel = (size_t)p->depth << p->wide;
    if (run == pixel && window->dilation == 1 && x >= 0 && x + window->size <= window->input) {
        memcpy(to, line + (size_t)x * pixel, (size_t)window->size * pixel);
        return;
    }
    for (int32_t i = 0; i < window->size; i++, to += run, x += window->dilation) {
        if (x >= 0 && x < window->input) {
            memcpy(to, line + (size_t)x * pixel, run);
        } else {
            put_zeros(p, to, p->filter_depth);
        }
        if (window->size > KERNEL_BLOCK && kernel_stops(&p->call, 1)) {
            return;
        }
    }
}

/** Gather the inputs under the window, in the order of a filter's weights. */
static const uint8_t *gather(const struct weighted_call *p, const uint8_t *image, int32_t y,
                             int32_t x)
{
    const struct window_2d *window = &p->window;
    size_t pixel = (size_t)p->depth << p->wide;
    int32_t line_count = window->x.size * p->filter_depth;
    if (p->window.y.size * p->window.x.size == 1) {
        return image + (size_t)(y * window->x.input + x) * pixel;
    }
    uint8_t *to = p->call.scratch;
    for (int32_t i = 0; i < window->y.size; i++, y += window->y.dilation) {
        if (y >= 0 && y < window->y.input) {
            gather_line(p, to, image + (size_t)y * (size_t)window->x.input * pixel, x);
        } else {
            put_zeros(p, to, line_count);
        }
        if (kernel_stops(&p->call, fixed_min(window->x.size, KERNEL_BLOCK))) {
            break;
        }
        to += (size_t)line_count << p->wide;
    }
    return p->call.scratch;
}

/** Compute all outputs of one pixel; false if the inference must stop. */
static bool convolve_pixel(const struct weighted_call *p, const uint8_t *image, int32_t y,
                           int32_t x, int32_t at)
{
    union sums sums;
    int32_t groups = p->depth / p->filter_depth;
    int32_t filters = p->filters / groups;
    int32_t taps = p->window.y.size * p->window.x.size * p->filter_depth;
    for (int32_t group = 0; group < groups; group++) {
        const uint8_t *channels = image + ((size_t)(group * p->filter_depth) << p->wide);
        const void *row = gather(p, channels, y, x);
        int32_t end = (group + 1) * filters;
        int32_t block = weighted_block(taps);
        for (int32_t first = group * filters; first < end; first += block) {
            int32_t count = fixed_min(block, end - first);
            for (int32_t i = 0; i < count; i++) {
                weighted_dot(p, &sums, i, row, p->filter + (size_t)(first + i) * (size_t)taps,
                             taps);
            }
            weighted_store(p, &sums, first, count, at + first);
            if (weighted_stops(p, count, taps)) {
                return false;
            }
        }
    }
    return true;
}

static int run_conv(const struct kernel_call *call)
{
    const struct weighted_call *p = (const struct weighted_call *)call;
    const struct window_2d *window = &p->window;
    size_t image_size = (size_t)window->y.input * (size_t)window->x.input * (size_t)p->depth
                        << p->wide;
    int32_t output = 0;
    if (cmsis_nn_conv(p)) {
        return ETHOSU_MODEL_OK;
    }
    for (int32_t batch = 0; batch < p->batches; batch++) {
        const uint8_t *image = (const uint8_t *)p->input + (size_t)batch * image_size;
        for (int32_t y = 0; y < window->y.output; y++) {
            for (int32_t x = 0; x < window->x.output; x++) {
                if (!convolve_pixel(p, image, window_origin(&window->y, y),
                                    window_origin(&window->x, x), output)) {
                    return ETHOSU_MODEL_STOPPED;
                }
                output += p->filters;
            }
        }
    }
    return ETHOSU_MODEL_OK;
}

/** Filters may be in groups; each group reads as many channels as a filter has. */
static bool channels_fit(const struct kernel_tensor *in, const struct kernel_tensor *filter,
                         const struct kernel_tensor *out)
{
    int32_t groups = in->shape[3] / filter->shape[3];
    return groups > 0 && groups * filter->shape[3] == in->shape[3] &&
           filter->shape[0] % groups == 0 && out->shape[3] == filter->shape[0];
}

static const struct weighted_image sliding = {
    .weighted = {.bias_input = 2,
                 .channel_axis = 0,
                 .activation = 3,
                 .bias_type = 6,
                 .scale_each = KERNEL_BUILD == KERNEL_CMSIS_NN},
    .window = {.padding = 0, .stride_w = 1, .stride_h = 2, .dilation_w = 4, .dilation_h = 5},
    .channels_fit = channels_fit,
};

static int prepare_conv(struct builder *builder, const struct tflite_operator_call *call,
                        const struct kernel *kernel)
{
    struct weighted_call p = {0};
    TRY(weighted_image_prepare(builder, call, &sliding, &p));
    return kernel_add(builder, kernel, &p.call, sizeof p);
}

DEFINE_KERNEL(CONV_2D, .prepare = prepare_conv, .scratch = conv_scratch, .run = run_conv);
