// SPDX-License-Identifier: MIT
/**
 * aten::avg_pool2d of float32, computed like kernels/portable of pytorch/executorch 1.5: a float
 * sum, line by line, and one division.
 */
#include "executorch/operators/sliding_window.h"

enum dimension { BATCH, CHANNEL, HEIGHT, WIDTH, DIMENSIONS };

struct real_pool {
    struct kernel_call call;
    const float *input;
    float *output;
    int32_t extent[DIMENSIONS]; /**< of the output */
    int32_t from[DIMENSIONS];   /**< strides of the input, in elements */
    int32_t to[DIMENSIONS];     /**< of the output */
    struct window y;
    struct window x;
    int32_t divisor;  /**< 0 for the number of pixels */
    bool counts_pads; /**< including padding */
};

/** Clip a window's positions to [low, high). */
static int32_t clip(const struct window *window, int32_t position, int32_t low, int32_t high,
                    int32_t *first)
{
    int32_t origin = position * window->stride - window->pad;
    int32_t end = origin + window->size;
    *first = origin < low ? low : origin;
    end = end > high ? high : end;
    return end > *first ? end - *first : 0;
}

static void pool_pixel(const struct real_pool *p, const float *image, int32_t row, int32_t column,
                       float *output)
{
    int32_t top;
    int32_t left;
    int32_t height = clip(&p->y, row, 0, p->y.input, &top);
    int32_t width = clip(&p->x, column, 0, p->x.input, &left);
    int32_t count = height * width;
    float sum = 0.0F;
    for (int32_t i = top; i < top + height && !kernel_stops(&p->call, width); i++) {
        for (int32_t k = left; k < left + width; k++) {
            sum = image[i * p->from[HEIGHT] + k * p->from[WIDTH]] + sum;
        }
    }
    if (p->counts_pads) {
        int32_t unused;
        count = clip(&p->y, row, -p->y.pad, p->y.input + p->y.pad, &unused) *
                clip(&p->x, column, -p->x.pad, p->x.input + p->x.pad, &unused);
    }
    *output = sum / (float)(p->divisor != 0 ? p->divisor : count);
}

static int run_pool(const struct kernel_call *call)
{
    const struct real_pool *p = (const struct real_pool *)call;
    const int32_t *extent = p->extent;
    int32_t images = extent[BATCH] * extent[CHANNEL];
    for (int32_t i = 0; i < images && !kernel_is_stopped(call); i++) {
        int32_t batch = i / extent[CHANNEL];
        int32_t channel = i % extent[CHANNEL];
        const float *image = p->input + batch * p->from[BATCH] + channel * p->from[CHANNEL];
        float *output = p->output + batch * p->to[BATCH] + channel * p->to[CHANNEL];
        for (int32_t k = 0; k < extent[HEIGHT] * extent[WIDTH] && !kernel_is_stopped(call); k++) {
            int32_t row = k / extent[WIDTH];
            int32_t column = k % extent[WIDTH];
            pool_pixel(p, image, row, column, output + row * p->to[HEIGHT] + column * p->to[WIDTH]);
        }
    }
    return ETHOSU_MODEL_OK;
}

/** Get sizes and strides of N, C, H and W; N is optional. */
static int get_image(struct program_builder *program, const struct program_tensor *tensor,
                     int32_t shape[DIMENSIONS], int32_t strides[DIMENSIONS])
{
    int32_t own[ETHOSU_MODEL_MAX_RANK];
    if (tensor->type != ETHOSU_TYPE_FLOAT32 || tensor->size == 0 || tensor->rank < 3 ||
        tensor->rank > DIMENSIONS) {
        return program_refuse(program, ETHOSU_MODEL_UNSUPPORTED,
                              "images are not float32 with 3 or 4 dimensions");
    }
    program_strides(tensor, own);
    for (uint32_t i = 0; i < DIMENSIONS; i++) {
        uint32_t missing = DIMENSIONS - tensor->rank;
        shape[i] = i < missing ? 1 : tensor->shape[i - missing];
        strides[i] = i < missing ? 0 : own[i - missing];
    }
    return ETHOSU_MODEL_OK;
}

/** Get the division's arguments: a Bool, and a divisor or Null. */
static int get_division(struct program_builder *program, const struct fb_vector *arguments,
                        uint32_t index, struct real_pool *p)
{
    uint32_t argument = fb_u32_at(&program->program.fb, arguments, index);
    if (!program_get_bool(&program->program, argument, &p->counts_pads)) {
        return program_refuse(program, ETHOSU_MODEL_BAD_FILE, "count_include_pad is not a Bool");
    }
    argument = fb_u32_at(&program->program.fb, arguments, index + 1);
    if (program_get_type(&program->program, argument) == PROGRAM_NULL) {
        return ETHOSU_MODEL_OK;
    }
    return argument_int(program, arguments, index + 1, 1, INT32_MAX, &p->divisor);
}

int prepare_real_avg_pool2d(struct program_builder *program, const struct fb_vector *arguments)
{
    enum { SIZE = 1, STRIDE, PADDING, COUNTS = 5 };
    static const struct kernel kernel = {.run = run_pool};
    struct program_operand in;
    struct program_operand out;
    struct real_pool p = {0};
    int32_t shape[DIMENSIONS];
    int64_t size[2];
    int64_t stride[2];
    int64_t pad[2];
    TRY(argument_tensor(program, arguments, 0, &in));
    TRY(argument_result(program, arguments, &out));
    TRY(get_image(program, &in.tensor, shape, p.from));
    TRY(get_image(program, &out.tensor, p.extent, p.to));
    TRY(window_read_pair(program, arguments, SIZE, 1, size));
    uint32_t list = fb_u32_at(&program->program.fb, arguments, STRIDE);
    if (program_get_ints(&program->program, list, 0, stride)) {
        stride[0] = size[0]; // PyTorch's default
        stride[1] = size[1];
    } else {
        TRY(window_read_pair(program, arguments, STRIDE, 1, stride));
    }
    TRY(window_read_pair(program, arguments, PADDING, 0, pad));
    TRY(get_division(program, arguments, COUNTS, &p));
    if (!window_init(&p.y, shape[HEIGHT], p.extent[HEIGHT], (int32_t)size[0], stride[0], 1,
                     pad[0]) ||
        !window_init(&p.x, shape[WIDTH], p.extent[WIDTH], (int32_t)size[1], stride[1], 1, pad[1]) ||
        !window_fits_output(&p.y) || !window_fits_output(&p.x) || shape[BATCH] != p.extent[BATCH] ||
        shape[CHANNEL] != p.extent[CHANNEL] || 2 * pad[0] > size[0] || 2 * pad[1] > size[1] ||
        size[0] * size[1] > INT32_MAX) {
        return program_refuse_shapes(program);
    }
    p.input = in.data;
    p.output = out.data;
    return kernel_add_step(program->builder, &kernel, &p.call, sizeof p);
}
