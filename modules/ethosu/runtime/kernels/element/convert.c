// SPDX-License-Identifier: MIT
/** QUANTIZE, DEQUANTIZE, CAST: from one type or quantisation to another. */
#include "runtime/kernels/shared/element.h"
#include "runtime/kernels/element/unary.h"

#include <math.h>

/* ---- QUANTIZE ---- */

static int32_t requantize(const struct unary *p, int32_t value)
{
    int64_t scaled = (int64_t)fixed_rescale(fixed_add(value, -p->input_zero_point), p->scale[0]) +
                     p->output_zero_point;
    return scaled < p->range.low    ? p->range.low
           : scaled > p->range.high ? p->range.high
                                    : (int32_t)scaled;
}

static int quantize_floats(const struct kernel_call *call)
{
    const struct unary *p = (const struct unary *)call;
    const float *input = p->input;
    KERNEL_BLOCKS(call, first, end, p->count)
    {
        for (int32_t i = first; i < end; i++) {
            float steps = roundf(input[i] / p->output_scale);
            // Numbers beyond 32 bits are clamped to the type's limits; NaN becomes the lowest.
            float near = fmaxf(fminf(steps, 1e9F), -1e9F);
            int32_t value = fixed_add((int32_t)near, p->output_zero_point);
            element_store(p->output, i, p->output_type,
                          fixed_clamp(value, p->range.low, p->range.high));
        }
    }
    return ETHOSU_MODEL_OK;
}

static int run_quantize(const struct kernel_call *call)
{
    const struct unary *p = (const struct unary *)call;
    return p->input_type == ETHOSU_TYPE_FLOAT32 ? quantize_floats(call) : unary_run(call);
}

static int prepare_quantize(struct builder *builder, const struct tflite_operator_call *call,
                            const struct kernel *kernel)
{
    struct kernel_tensor in;
    struct kernel_tensor out;
    struct unary p = {.function = requantize};
    TRY(unary_begin(builder, call, &in, &out, &p));
    bool real = in.type == ETHOSU_TYPE_FLOAT32;
    p.output_scale = out.scale;
    if ((!real && !range_of_type(in.type, &p.range)) || !range_of_type(out.type, &p.range)) {
        return kernel_bad_type(builder);
    }
    if (in.zero_point == INT32_MIN) {
        return kernel_bad(builder, "a zero point is outside its type's range");
    }
    if (out.channels != 1 || (!real && in.channels != 1) || !(out.scale > 0.0F)) {
        return kernel_unsupported(builder, "expected one scale per tensor");
    }
    if (!real) {
        TRY(need_rescale(builder, (double)in.scale / (double)out.scale, &p.scale[0]));
    }
    return unary_finish(builder, kernel, &p);
}

DEFINE_KERNEL(QUANTIZE, .prepare = prepare_quantize, .run = run_quantize);

/* ---- DEQUANTIZE ---- */

struct dequantize {
    struct kernel_call call;
    const void *input;
    float *output;
    int32_t count;
    int32_t zero_point;
    double scale;
    uint32_t type;
};

static int run_dequantize(const struct kernel_call *call)
{
    const struct dequantize *p = (const struct dequantize *)call;
    KERNEL_BLOCKS(call, first, end, p->count)
    {
        for (int32_t i = first; i < end; i++) {
            int64_t steps = (int64_t)element_load(p->input, i, p->type) - p->zero_point;
            p->output[i] = (float)(p->scale * (double)steps);
        }
    }
    return ETHOSU_MODEL_OK;
}

static int prepare_dequantize(struct builder *builder, const struct tflite_operator_call *call,
                              const struct kernel *kernel)
{
    struct kernel_tensor in;
    struct kernel_tensor out;
    TRY(kernel_tensors(builder, call, &in, 1, &out, 1));
    struct range range;
    if (!range_of_type(in.type, &range) || out.type != ETHOSU_TYPE_FLOAT32) {
        return kernel_bad_type(builder);
    }
    if (in.channels != 1 || in.count != out.count) {
        return kernel_unsupported(builder, "expected one scale per tensor");
    }
    struct dequantize p = {
        .input = in.data,
        .output = out.data,
        .count = out.count,
        .zero_point = in.zero_point,
        .scale = (double)in.scale,
        .type = in.type,
    };
    return kernel_add(builder, kernel, &p.call, sizeof p);
}

DEFINE_KERNEL(DEQUANTIZE, .prepare = prepare_dequantize, .run = run_dequantize);

/* ---- CAST: floats are clamped to an integer type's range, integers wrap around as in C ---- */

struct cast {
    struct kernel_call call;
    const void *input;
    void *output;
    int32_t count;
    uint8_t from;
    uint8_t to;
    struct range range; /**< of an integer output */
};

/** A float as an integer, rounded towards zero and clamped; NaN becomes the lowest. */
static int32_t truncate(float value, struct range range)
{
    int32_t whole = value >= 2147483648.0F    ? INT32_MAX
                    : value >= -2147483648.0F ? (int32_t)value
                                              : INT32_MIN;
    return fixed_clamp(whole, range.low, range.high);
}

static void cast_one(const struct cast *p, int32_t i)
{
    bool from_float = p->from == ETHOSU_TYPE_FLOAT32;
    float real = from_float ? ((const float *)p->input)[i] : 0.0F;
    int32_t value = from_float ? truncate(real, p->range) : element_load(p->input, i, p->from);
    if (p->to == ETHOSU_TYPE_FLOAT32) {
        ((float *)p->output)[i] = from_float ? real : (float)value;
    } else if (p->to == ETHOSU_TYPE_BOOL) {
        ((uint8_t *)p->output)[i] = from_float ? real != 0.0F : value != 0;
    } else {
        element_store(p->output, i, p->to, value);
    }
}

static int run_cast(const struct kernel_call *call)
{
    const struct cast *p = (const struct cast *)call;
    KERNEL_BLOCKS(call, first, end, p->count)
    {
        for (int32_t i = first; i < end; i++) {
            cast_one(p, i);
        }
    }
    return ETHOSU_MODEL_OK;
}

static bool can_cast(uint32_t type, struct range *range)
{
    return type == ETHOSU_TYPE_FLOAT32 || type == ETHOSU_TYPE_BOOL || range_of_type(type, range);
}

static int prepare_cast(struct builder *builder, const struct tflite_operator_call *call,
                        const struct kernel *kernel)
{
    struct kernel_tensor in;
    struct kernel_tensor out;
    TRY(kernel_tensors(builder, call, &in, 1, &out, 1));
    struct range range = {0, 0};
    if (!can_cast(in.type, &range) || !can_cast(out.type, &range)) {
        return kernel_bad_type(builder);
    }
    if (in.count != out.count) {
        return kernel_bad(builder, "input and output differ in number of elements");
    }
    struct cast p = {
        .input = in.data,
        .output = out.data,
        .count = out.count,
        .from = (uint8_t)in.type,
        .to = (uint8_t)out.type,
        .range = range,
    };
    return kernel_add(builder, kernel, &p.call, sizeof p);
}

DEFINE_KERNEL(CAST, .prepare = prepare_cast, .run = run_cast);
