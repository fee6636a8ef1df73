// SPDX-License-Identifier: MIT
/**
 * cortex_m::quantized_avg_pool2d and quantized_max_pool2d: int8, computed by the kernels of
 * TensorFlow Lite's operators. Arguments: backends/cortex_m/ops of pytorch/executorch 1.5.
 */
#include "runtime/kernels/weighted/pool.h"
#include "driver/base/ethosu_count.h"

#include "executorch/operators/sliding_window.h"

/** Add a pool of the pixels that are in the image; `p` has its range. */
static int add_pool(struct program_builder *program, const struct fb_vector *arguments,
                    uint32_t code, struct pool *p)
{
    enum { SIZE = 1, STRIDE, PADDING };
    const struct kernel *kernel;
    struct program_operand in;
    struct program_operand out;
    int32_t input[4];
    int32_t output[4];
    int64_t size[2];
    int64_t stride[2];
    int64_t pad[2];
    TRY(argument_tensor(program, arguments, 0, &in));
    TRY(argument_result(program, arguments, &out));
    TRY(window_image_shape(program, &in.tensor, input));
    TRY(window_image_shape(program, &out.tensor, output));
    TRY(window_read_pair(program, arguments, SIZE, 1, size));
    TRY(window_read_pair(program, arguments, STRIDE, 1, stride));
    TRY(window_read_pair(program, arguments, PADDING, 0, pad));
    TRY(program_kernel(program, code, &kernel));
    struct window_2d *window = &p->window;
    // With padding of less than half a window, each window contains a pixel of the image.
    if (!window_init(&window->y, input[1], output[1], (int32_t)size[0], stride[0], 1, pad[0]) ||
        !window_init(&window->x, input[2], output[2], (int32_t)size[1], stride[1], 1, pad[1]) ||
        !window_fits_output(&window->y) || !window_fits_output(&window->x) ||
        input[0] != output[0] || input[3] != output[3] || 2 * pad[0] > size[0] ||
        2 * pad[1] > size[1]) {
        return program_refuse_shapes(program);
    }
    p->type = ETHOSU_TYPE_INT8;
    p->input = in.data;
    p->output = out.data;
    p->batches = input[0];
    p->depth = input[3];
    return kernel_add_step(program->builder, kernel, &p->call, sizeof *p);
}

/** Means of the pixels, rounded with ties away from zero; the scales add no information. */
int prepare_avg_pool2d(struct program_builder *program, const struct fb_vector *arguments)
{
    struct pool p = {.average = true, .range = {INT8_MIN, INT8_MAX}};
    return add_pool(program, arguments, TFLITE_AVERAGE_POOL_2D, &p);
}

int prepare_max_pool2d(struct program_builder *program, const struct fb_vector *arguments)
{
    enum { DILATION = 4 };
    struct numbers {
        int32_t zero;
        int32_t out_zero;
        int32_t low;
        int32_t high;
    } numbers;
    static const struct int_argument rows[] = {
        {6, LIMITS_INT8, offsetof(struct numbers, zero)},
        {7, LIMITS_INT8, offsetof(struct numbers, out_zero)},
        {8, LIMITS_INT8, offsetof(struct numbers, low)},
        {9, LIMITS_HIGH, offsetof(struct numbers, high)},
    };
    int64_t dilation[2];
    TRY(window_read_pair(program, arguments, DILATION, 1, dilation));
    TRY(argument_ints(program, arguments, rows, COUNT(rows), &numbers));
    struct pool p = {.range = {numbers.low, numbers.high}};
    if (dilation[0] != 1 || dilation[1] != 1 || numbers.zero != numbers.out_zero) {
        return program_refuse(program, ETHOSU_MODEL_UNSUPPORTED,
                              "dilation is not 1, or zero points differ");
    }
    return add_pool(program, arguments, TFLITE_MAX_POOL_2D, &p);
}
