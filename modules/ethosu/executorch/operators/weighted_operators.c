// SPDX-License-Identifier: MIT
/**
 * cortex_m::quantized_conv2d, quantized_depthwise_conv2d, quantized_transpose_conv2d and
 * quantized_linear: int8, computed by the kernels of TensorFlow Lite's operators. Arguments and
 * arithmetic: backends/cortex_m of pytorch/executorch 1.5; both sides rescale sums in the same way.
 */
#include "executorch/operators/sliding_window.h"
#include "driver/base/ethosu_count.h"

#include <string.h>

/** Positions of the arguments; 0 if the operator does not have one. */
struct layout {
    uint8_t stride, padding, output_padding, dilation;
    uint8_t input_offset, filter_offset, output_offset;
    uint8_t multipliers, shifts;
    uint8_t low, high;
    uint8_t scratch;
};

/** Get an aligned constant of `count` int32; *data is NULL if the argument is Null. */
static int get_table(struct program_builder *program, const struct fb_vector *arguments,
                     uint32_t index, int32_t count, const int32_t **data)
{
    struct program_operand operand;
    uint32_t argument = fb_u32_at(&program->program.fb, arguments, index);
    *data = NULL;
    if (program_get_type(&program->program, argument) == PROGRAM_NULL) {
        return ETHOSU_MODEL_OK;
    }
    TRY(argument_tensor(program, arguments, index, &operand));
    if (operand.tensor.buffer != 0 || operand.tensor.type != ETHOSU_TYPE_INT32 ||
        operand.tensor.size != (uint64_t)(uint32_t)count * 4 || (uintptr_t)operand.data % 4 != 0) {
        return program_refuse(program, ETHOSU_MODEL_BAD_FILE,
                              "bias, multipliers or shifts are not one aligned constant int32 per "
                              "channel");
    }
    *data = operand.data;
    return ETHOSU_MODEL_OK;
}

/** Copy a table of one int32 per channel if its file may change after it was checked. */
static int keep_table(struct program_builder *program, int32_t count, const int32_t **table)
{
    void *copy = NULL;
    TRY(program->builder->model->file_may_change
            ? build_object_back(program->builder, (size_t)count * sizeof **table, &copy)
            : ETHOSU_MODEL_OK);
    *table = copy != NULL ? memcpy(copy, *table, (size_t)count * sizeof **table) : *table;
    return ETHOSU_MODEL_OK;
}

/** Check scales from the file, because kernels rely on their limits. */
static int check_scales(struct program_builder *program, struct weighted *weighted, int32_t count)
{
    TRY(keep_table(program, count, &weighted->multipliers));
    TRY(keep_table(program, count, &weighted->shifts));
    for (int32_t i = 0; i < count; i++) {
        TRY(build_work_at(program->builder, (uint32_t)i));
        if (weighted->multipliers[i] < 0 || weighted->shifts[i] < -31 || weighted->shifts[i] > 30) {
            return program_refuse(program, ETHOSU_MODEL_BAD_FILE,
                                  "a multiplier is negative, or a shift outside -31 to 30");
        }
    }
    return ETHOSU_MODEL_OK;
}

/** Get the common arguments: offsets, limits, bias. */
static int get_weighted(struct program_builder *program, const struct fb_vector *arguments,
                        const struct layout *layout, struct weighted_call *p)
{
    struct weighted *weighted = &p->weighted;
    const int32_t *bias;
    weighted->mode = SUM_8;
    const struct int_argument rows[] = {
        {layout->input_offset, LIMITS_OFFSET, offsetof(struct weighted, input_offset)},
        {layout->output_offset, LIMITS_INT8, offsetof(struct weighted, output_offset)},
        {layout->low, LIMITS_INT8, offsetof(struct weighted, range.low)},
        {layout->high, LIMITS_HIGH, offsetof(struct weighted, range.high)},
    };
    TRY(argument_ints(program, arguments, rows, COUNT(rows), weighted));
    TRY(get_table(program, arguments, 2, p->filters, &bias));
    weighted->bias = bias;
    return ETHOSU_MODEL_OK;
}

static int add(struct program_builder *program, const struct fb_vector *arguments,
               const struct layout *layout, uint32_t code, struct weighted_call *p)
{
    const struct kernel *kernel;
    struct program_operand in;
    struct program_operand scratch;
    TRY(program_kernel(program, code, &kernel));
    if (layout->scratch != 0) {
        TRY(argument_tensor(program, arguments, 0, &in));
        TRY(argument_tensor(program, arguments, layout->scratch, &scratch));
        TRY(program_check_apart(program, &in, &scratch));
    }
    return program_add_kernel(program, kernel, &p->call, sizeof *p,
                              layout->scratch != 0 ? &scratch : NULL);
}

/* ---- convolutions ---- */

/** Get tensors and windows of a convolution; `over` is the image that the window slides over. */
static int get_convolution(struct program_builder *program, const struct fb_vector *arguments,
                           const struct layout *layout, bool transposed, int32_t filter[4],
                           struct weighted_call *p)
{
    struct program_operand in;
    struct program_operand weights;
    struct program_operand out;
    int32_t input[4];
    int32_t output[4];
    int64_t stride[2];
    int64_t pad[2];
    int64_t dilation[2];
    TRY(argument_tensor(program, arguments, 0, &in));
    TRY(argument_tensor(program, arguments, 1, &weights));
    TRY(argument_result(program, arguments, &out));
    TRY(window_image_shape(program, &in.tensor, input));
    TRY(window_image_shape(program, &out.tensor, output));
    TRY(window_read_pair(program, arguments, layout->stride, 1, stride));
    TRY(window_read_pair(program, arguments, layout->padding, 0, pad));
    TRY(window_read_pair(program, arguments, layout->dilation, 1, dilation));
    if (weights.tensor.rank != 4 || weights.tensor.type != ETHOSU_TYPE_INT8 ||
        weights.tensor.size == 0) {
        return program_refuse(program, ETHOSU_MODEL_BAD_FILE,
                              "weights are not int8 with 4 dimensions");
    }
    const int32_t *image = transposed ? output : input;
    const int32_t *positions = transposed ? input : output;
    for (int i = 0; i < 4; i++) {
        filter[i] = weights.tensor.shape[i];
    }
    if (!window_init(&p->window.y, image[1], positions[1], filter[1], stride[0], dilation[0],
                     pad[0]) ||
        !window_init(&p->window.x, image[2], positions[2], filter[2], stride[1], dilation[1],
                     pad[1]) ||
        input[0] != output[0]) {
        return program_refuse_shapes(program);
    }
    p->input = in.data;
    p->filter = weights.data;
    p->output = out.data;
    p->batches = input[0];
    p->depth = input[3];
    p->filter_depth = filter[3];
    p->filters = output[3];
    return ETHOSU_MODEL_OK;
}

/** Get offsets, limits and per-channel scales. */
static int get_scaled(struct program_builder *program, const struct fb_vector *arguments,
                      const struct layout *layout, struct weighted_call *p)
{
    TRY(get_weighted(program, arguments, layout, p));
    p->weighted.per_channel = true;
    TRY(get_table(program, arguments, layout->multipliers, p->filters, &p->weighted.multipliers));
    TRY(get_table(program, arguments, layout->shifts, p->filters, &p->weighted.shifts));
    if (p->weighted.multipliers == NULL || p->weighted.shifts == NULL) {
        return program_refuse(program, ETHOSU_MODEL_BAD_FILE, "no multipliers or shifts");
    }
    return check_scales(program, &p->weighted, p->filters);
}

int prepare_conv2d(struct program_builder *program, const struct fb_vector *arguments)
{
    static const struct layout layout = {.stride = 3,
                                         .padding = 4,
                                         .dilation = 5,
                                         .input_offset = 6,
                                         .output_offset = 7,
                                         .multipliers = 8,
                                         .shifts = 9,
                                         .low = 10,
                                         .high = 11,
                                         .scratch = 12};
    struct weighted_call p = {0};
    int32_t filter[4];
    TRY(get_convolution(program, arguments, &layout, false, filter, &p));
    int32_t groups = p.depth / filter[3];
    if (!window_fits_output(&p.window.y) || !window_fits_output(&p.window.x) ||
        filter[0] != p.filters || groups == 0 || groups * filter[3] != p.depth ||
        p.filters % groups != 0) {
        return program_refuse_shapes(program);
    }
    TRY(get_scaled(program, arguments, &layout, &p));
    return add(program, arguments, &layout, TFLITE_CONV_2D, &p);
}

int prepare_depthwise_conv2d(struct program_builder *program, const struct fb_vector *arguments)
{
    static const struct layout layout = {.stride = 3,
                                         .padding = 4,
                                         .dilation = 5,
                                         .input_offset = 7,
                                         .output_offset = 8,
                                         .multipliers = 9,
                                         .shifts = 10,
                                         .low = 11,
                                         .high = 12,
                                         .scratch = 13};
    struct weighted_call p = {0};
    int32_t filter[4];
    TRY(get_convolution(program, arguments, &layout, false, filter, &p));
    if (!window_fits_output(&p.window.y) || !window_fits_output(&p.window.x) || filter[0] != 1 ||
        filter[3] != p.filters || p.filters % p.depth != 0) {
        return program_refuse_shapes(program);
    }
    p.filter_depth = 1;
    TRY(get_scaled(program, arguments, &layout, &p));
    return add(program, arguments, &layout, TFLITE_DEPTHWISE_CONV_2D, &p);
}

int prepare_transpose_conv2d(struct program_builder *program, const struct fb_vector *arguments)
{
    static const struct layout layout = {.stride = 3,
                                         .padding = 4,
                                         .output_padding = 5,
                                         .dilation = 6,
                                         .input_offset = 7,
                                         .output_offset = 8,
                                         .multipliers = 9,
                                         .shifts = 10,
                                         .low = 11,
                                         .high = 12,
                                         .scratch = 13};
    struct weighted_call p = {0};
    int32_t filter[4];
    TRY(get_convolution(program, arguments, &layout, true, filter, &p));
    if (p.window.y.dilation != 1 || p.window.x.dilation != 1) {
        return program_refuse(program, ETHOSU_MODEL_UNSUPPORTED, "dilation is not 1");
    }
    if (filter[0] != p.filters || filter[3] != p.depth) {
        return program_refuse_shapes(program);
    }
    TRY(get_scaled(program, arguments, &layout, &p));
    return add(program, arguments, &layout, TFLITE_TRANSPOSE_CONV, &p);
}

/* ---- linear ---- */

/** Get one multiplier and one shift, each a list, as the kernel's tables. */
static int get_one_scale(struct program_builder *program, const struct fb_vector *arguments,
                         const struct layout *layout, struct weighted *weighted)
{
    struct program *file = &program->program;
    int64_t multiplier;
    int64_t shift;
    void *memory;
    if (!program_get_ints(file, fb_u32_at(&file->fb, arguments, layout->multipliers), 1,
                          &multiplier) ||
        !program_get_ints(file, fb_u32_at(&file->fb, arguments, layout->shifts), 1, &shift) ||
        multiplier < 0 || multiplier > INT32_MAX || shift < -31 || shift > 30) {
        return program_refuse(program, ETHOSU_MODEL_BAD_FILE,
                              "expected one multiplier, and one shift from -31 to 30");
    }
    TRY(build_object_back(program->builder, 2 * sizeof(int32_t), &memory));
    int32_t *table = memory;
    if (table != NULL) {
        table[0] = (int32_t)multiplier;
        table[1] = (int32_t)shift;
        weighted->multipliers = &table[0];
        weighted->shifts = &table[1];
    }
    return ETHOSU_MODEL_OK;
}

int prepare_linear(struct program_builder *program, const struct fb_vector *arguments)
{
    static const struct layout layout = {.input_offset = 4,
                                         .filter_offset = 5,
                                         .output_offset = 6,
                                         .multipliers = 7,
                                         .shifts = 8,
                                         .high = 9,
                                         .low = 10};
    enum { KERNEL_SUM = 3 };
    struct weighted_call p = {0};
    struct program_operand in;
    struct program_operand weights;
    struct program_operand out;
    const int32_t *kernel_sum;
    TRY(argument_tensor(program, arguments, 0, &in));
    TRY(argument_tensor(program, arguments, 1, &weights));
    TRY(argument_result(program, arguments, &out));
    if (in.tensor.type != ETHOSU_TYPE_INT8 || weights.tensor.type != ETHOSU_TYPE_INT8 ||
        out.tensor.type != ETHOSU_TYPE_INT8 || weights.tensor.rank != 2 ||
        weights.tensor.size == 0) {
        return program_refuse(program, ETHOSU_MODEL_UNSUPPORTED, "tensors are not int8");
    }
    p.filters = weights.tensor.shape[0];
    p.depth = p.filter_depth = weights.tensor.shape[1];
    p.batches = (int32_t)in.tensor.size / p.depth;
    if ((uint32_t)(p.batches * p.depth) != in.tensor.size ||
        (uint64_t)(uint32_t)p.batches * (uint32_t)p.filters != out.tensor.size) {
        return program_refuse_shapes(program);
    }
    p.input = in.data;
    p.filter = weights.data;
    p.output = out.data;
    TRY(get_weighted(program, arguments, &layout, &p));
    TRY(argument_int(program, arguments, layout.filter_offset, -255, 255, &p.filter_offset));
    TRY(get_table(program, arguments, KERNEL_SUM, p.filters, &kernel_sum));
    if (kernel_sum != NULL) {
        // Bias and offset of the input are in these sums.
        if (p.weighted.bias != NULL || p.filter_offset != 0) {
            return program_refuse(program, ETHOSU_MODEL_UNSUPPORTED,
                                  "kernel_sum with a bias or a filter offset is not supported");
        }
        p.weighted.bias = kernel_sum;
        p.weighted.input_offset = 0;
    }
    TRY(get_one_scale(program, arguments, &layout, &p.weighted));
    return add(program, arguments, &layout, TFLITE_FULLY_CONNECTED, &p);
}
