// SPDX-License-Identifier: MIT
/**
 * TRANSPOSE_CONV, computed per output: each output sums the products of all window
 * positions that contribute to it, so no partial sums are stored.
 */
#include "runtime/kernels/weighted/cmsis_nn.h"

#include "runtime/kernels/shared/integers.h"

/** Inputs and fields of the options. */
enum { INPUT_SHAPE, INPUT_FILTER, INPUT_IMAGE, INPUT_BIAS };
static const struct weighted_fields weighted_fields = {
    .bias_input = INPUT_BIAS,
    .channel_axis = 0,
    .activation = 3,
    .bias_type = 4,
    .scale_each = KERNEL_BUILD == KERNEL_CMSIS_NN,
};

static const struct window_fields window_fields = {.padding = 0, .stride_w = 1, .stride_h = 2};

/** Maximum work of an output that is computed without polling. */
enum { MAX_WORK = 128 };

/** Positions in the window that contribute to an output: first, first + stride, … */
static int32_t first_tap(const struct window *window, int32_t position)
{
    return (position + window->pad) % window->stride;
}

/** Work of one output in units; 0 if it is so large that sum_output() must poll. */
static int32_t work_of_output(const struct weighted_call *p)
{
    int64_t work = (int64_t)p->window.y.size * p->window.x.size * (p->depth / 4 + 1);
    return work <= MAX_WORK ? (int32_t)work : 0;
}

/** The sum of the output at y, x. */
static int64_t sum_output(const struct weighted_call *p, int32_t batch, int32_t y, int32_t x,
                          int32_t channel, bool polls)
{
    const struct window *wy = &p->window.y;
    const struct window *wx = &p->window.x;
    const int8_t *filter = p->filter + (size_t)channel * (size_t)(wy->size * wx->size * p->depth);
    int64_t sum = 0;
    for (int32_t i = first_tap(wy, y); i < wy->size; i += wy->stride) {
        int32_t in_y = (y + wy->pad - i) / wy->stride;
        if (polls && kernel_stops(&p->call, fixed_min(wx->size, KERNEL_BLOCK))) {
            return 0;
        }
        if (y + wy->pad < i || in_y >= wy->output) {
            continue;
        }
        for (int32_t k = first_tap(wx, x); k < wx->size; k += wx->stride) {
            int32_t in_x = (x + wx->pad - k) / wx->stride;
            if (x + wx->pad < k || in_x >= wx->output) {
                if (polls && wx->size > KERNEL_BLOCK && kernel_stops(&p->call, 1)) {
                    return 0;
                }
                continue;
            }
            int32_t at = ((batch * wy->output + in_y) * wx->output + in_x) * p->depth;
            const int8_t *weights = filter + (i * wx->size + k) * p->depth;
            if (polls && weighted_stops(p, 1, p->depth)) {
                return 0;
            }
            sum += p->wide ? any_dot_16(&p->call, (const int16_t *)p->input + at, weights, p->depth)
                           : any_dot_8(&p->call, (const int8_t *)p->input + at, weights, p->depth,
                                       p->weighted.input_offset);
        }
    }
    return sum;
}

static void put_sum(const struct weighted_call *p, union sums *sums, int32_t index, int64_t sum)
{
    if (p->wide) {
        sums->wide[index] = sum;
    } else {
        sums->narrow[index] = (int32_t)sum;
    }
}

static uint32_t transpose_conv_scratch(const struct kernel_call *call)
{
    return cmsis_nn_transpose_conv_scratch((const struct weighted_call *)call);
}

static int run_transpose_conv(const struct kernel_call *call)
{
    const struct weighted_call *p = (const struct weighted_call *)call;
    int32_t height = p->window.y.input;
    int32_t width = p->window.x.input;
    int32_t work = work_of_output(p);
    if (cmsis_nn_transpose_conv(p)) {
        return ETHOSU_MODEL_OK;
    }
    for (int32_t pixel = 0; pixel < p->batches * height * width; pixel++) {
        int32_t line = pixel / width;
        for (int32_t first = 0; first < p->filters; first += SUM_BLOCK) {
            union sums sums;
            int32_t count = fixed_min(SUM_BLOCK, p->filters - first);
            for (int32_t i = 0; i < count; i++) {
                int64_t sum = sum_output(p, line / height, line % height, pixel % width, first + i,
                                         work == 0);
                put_sum(p, &sums, i, sum);
            }
            weighted_store(p, &sums, first, count, pixel * p->filters + first);
            if (kernel_stops(&p->call, count * (work + 1))) {
                return ETHOSU_MODEL_STOPPED;
            }
        }
    }
    return ETHOSU_MODEL_OK;
}

static bool shapes_fit(const struct kernel_tensor *in, const struct kernel_tensor *filter,
                       const struct kernel_tensor *out, const struct window_2d *window)
{
    return in->shape[0] == out->shape[0] && in->shape[1] == window->y.output &&
           in->shape[2] == window->x.output && in->shape[3] == filter->shape[3] &&
           out->shape[3] == filter->shape[0];
}

static int prepare_transpose_conv(struct builder *builder, const struct tflite_operator_call *call,
                                  const struct kernel *kernel)
{
    struct kernel_tensor in[3];
    struct kernel_tensor out;
    const struct kernel_tensor *image = &in[INPUT_IMAGE];
    const struct kernel_tensor *filter = &in[INPUT_FILTER];
    struct weighted_call p = {0};
    TRY(kernel_tensors(builder, call, in, 3, &out, 1));
    if (image->rank != 4 || filter->rank != 4 || out.rank != 4) {
        return kernel_bad(builder, "tensors do not have 4 dimensions");
    }
    TRY(window_2d_prepare(builder, call, &window_fields, &out, filter->shape[1], filter->shape[2],
                          &p.window));
    if (!shapes_fit(image, filter, &out, &p.window)) {
        return kernel_bad(builder, "shapes do not match");
    }
    TRY(weighted_prepare(builder, call, image, filter, &out, &weighted_fields, &p.weighted));
    p.input = image->data;
    p.filter = filter->data;
    p.output = out.data;
    p.batches = image->shape[0];
    p.depth = image->shape[3];
    p.filter_depth = p.depth;
    p.filters = filter->shape[0];
    p.wide = image->type == ETHOSU_TYPE_INT16;
    return kernel_add(builder, kernel, &p.call, sizeof p);
}

DEFINE_KERNEL(TRANSPOSE_CONV, .prepare = prepare_transpose_conv, .scratch = transpose_conv_scratch,
              .run = run_transpose_conv);
