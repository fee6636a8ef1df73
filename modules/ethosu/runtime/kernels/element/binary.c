// SPDX-License-Identifier: MIT
/**
 * Elementwise operators of two tensors, with broadcasting: ADD, SUB, MUL,
 * MAXIMUM, MINIMUM, PRELU.
 */
#include "runtime/kernels/element/binary.h"

#include "runtime/kernels/shared/element.h"

#include <math.h>

/** Fields of ADD's, SUB's and MUL's options. */
enum { OPTION_ACTIVATION = 0, OPTION_POT_SCALE = 1 };

static int run_binary(const struct kernel_call *call)
{
    const struct binary *p = (const struct binary *)call;
    const struct nd_dimension *row = &p->walk.dimension[0];
    uint32_t size = p->element_size;
    struct nd_cursor cursor = {0};
    do {
        KERNEL_BLOCKS(call, first, end, row->extent)
        {
            p->row(p, element_at(p->output, cursor.offset[0] + first, size),
                   element_at(p->input[0], cursor.offset[1] + first * row->stride[1], size),
                   element_at(p->input[1], cursor.offset[2] + first * row->stride[2], size),
                   end - first);
        }
    } while (!kernel_is_stopped(call) && nd_next(&p->walk, &cursor));
    return ETHOSU_MODEL_OK;
}

/** One loop for every type and operation; both are constants at each use. */
#define DEFINE_ROW(name, type, expression)                                            \
    static void name(const struct binary *p, void *out, const void *a, const void *b, \
                     int32_t count)                                                   \
    {                                                                                 \
        int32_t step_a = p->walk.dimension[0].stride[1];                              \
        int32_t step_b = p->walk.dimension[0].stride[2];                              \
        for (int32_t i = 0; i < count; i++) {                                         \
            int32_t x = element_load(a, i * step_a, type);                            \
            int32_t y = element_load(b, i * step_b, type);                            \
            element_store(out, i, type, expression);                                  \
        }                                                                             \
    }

#define DEFINE_FLOAT_ROW(name, expression)                                            \
    static void name(const struct binary *p, void *out, const void *a, const void *b, \
                     int32_t count)                                                   \
    {                                                                                 \
        int32_t step_a = p->walk.dimension[0].stride[1];                              \
        int32_t step_b = p->walk.dimension[0].stride[2];                              \
        for (int32_t i = 0; i < count; i++) {                                         \
            float x = ((const float *)a)[i * step_a];                                 \
            float y = ((const float *)b)[i * step_b];                                 \
            ((float *)out)[i] = expression;                                           \
        }                                                                             \
    }

static inline float clamp_float(const struct binary *p, float value)
{
    return fminf(fmaxf(value, p->low), p->high);
}

static inline int32_t clamp(const struct binary *p, int32_t value)
{
    return fixed_clamp(value, p->range.low, p->range.high);
}

/* ---- ADD and SUB ---- */

/** Add both inputs on a common scale, with as many extra bits as possible. */
static inline int32_t add(const struct binary *p, int32_t x, int32_t y)
{
    x = fixed_rescale(fixed_shift_left(x + p->offset[0], p->left_shift), p->scale[0]);
    y = fixed_rescale(fixed_shift_left(y + p->offset[1], p->left_shift), p->scale[1]);
    int32_t sum = p->subtract ? fixed_add(x, -y) : fixed_add(x, y);
    return clamp(p, fixed_add(fixed_rescale(sum, p->output_scale), p->output_offset));
}

/** If all scales are powers of two, one input is shifted to the other's scale. */
static inline int32_t add_shifted(const struct binary *p, int32_t x, int32_t y)
{
    x = fixed_divide_pot(x, -p->scale[0].shift);
    y = fixed_divide_pot(y, -p->scale[1].shift);
    int32_t sum = fixed_clamp(p->subtract ? x - y : x + y, INT16_MIN, INT16_MAX);
    return clamp(p, sum);
}

/** Integers without scales; the sum wraps around. */
static inline int32_t add_plain(const struct binary *p, int32_t x, int32_t y)
{
    uint32_t sum = p->subtract ? (uint32_t)x - (uint32_t)y : (uint32_t)x + (uint32_t)y;
    return clamp(p, (int32_t)sum);
}

DEFINE_ROW(add_int8, ETHOSU_TYPE_INT8, add(p, x, y))
DEFINE_ROW(add_uint8, ETHOSU_TYPE_UINT8, add(p, x, y))
DEFINE_ROW(add_int16, ETHOSU_TYPE_INT16, add(p, x, y))
DEFINE_ROW(add_pot, ETHOSU_TYPE_INT16, add_shifted(p, x, y))
DEFINE_ROW(add_int32, ETHOSU_TYPE_INT32, add_plain(p, x, y))
DEFINE_FLOAT_ROW(add_float, clamp_float(p, p->subtract ? x - y : x + y))

/** Is a scale a power of two, within TensorFlow Lite's tolerance? */
static bool is_power_of_two(float scale, int32_t *exponent)
{
    float logarithm = logf(scale) * (1.0F / logf(2.0F));
    float rounded = roundf(logarithm);
    *exponent = (int32_t)rounded;
    return fabsf(logarithm - rounded) < 1e-3F;
}

/** int16 with three power-of-two scales: use shifts instead of multipliers. */
static int prepare_pot(struct builder *builder, const struct kernel_tensor *inputs,
                       const struct kernel_tensor *output, struct binary *p, bool *pot)
{
    int32_t exponent[3];
    *pot = is_power_of_two(inputs[0].scale, &exponent[0]) &&
           is_power_of_two(inputs[1].scale, &exponent[1]) &&
           is_power_of_two(output->scale, &exponent[2]);
    if (!*pot) {
        return ETHOSU_MODEL_OK;
    }
    p->row = add_pot;
    p->scale[0].shift = exponent[0] - exponent[2];
    p->scale[1].shift = exponent[1] - exponent[2];
    int32_t lower = fixed_min(p->scale[0].shift, p->scale[1].shift);
    int32_t higher = fixed_max(p->scale[0].shift, p->scale[1].shift);
    return higher == 0 && lower >= -31
               ? ETHOSU_MODEL_OK
               : kernel_unsupported(builder, "an input has a larger scale than the output");
}

static int prepare_add_scales(struct builder *builder, const struct kernel_tensor *inputs,
                              const struct kernel_tensor *output, struct binary *p)
{
    bool wide = output->type == ETHOSU_TYPE_INT16;
    p->left_shift = wide ? 15 : BINARY_ADD_SHIFT;
    float twice_largest = 2.0F * fmaxf(inputs[0].scale, inputs[1].scale);
    float unit = (float)(1 << p->left_shift) * output->scale;
    TRY(need_rescale(builder, (double)twice_largest / (double)unit, &p->output_scale));
    for (int i = 0; i < 2; i++) {
        p->offset[i] = -inputs[i].zero_point;
        TRY(need_rescale(builder, (double)inputs[i].scale / (double)twice_largest, &p->scale[i]));
    }
    return ETHOSU_MODEL_OK;
}

static int prepare_add_quantized(struct builder *builder, const struct tflite_operator_call *call,
                                 const struct kernel_tensor *inputs,
                                 const struct kernel_tensor *output, struct binary *p)
{
    bool pot = output->type == ETHOSU_TYPE_INT16 &&
               kernel_option_byte(builder, call, OPTION_POT_SCALE, 1) != 0;
    if (pot) {
        TRY(prepare_pot(builder, inputs, output, p, &pot));
    }
    return pot ? ETHOSU_MODEL_OK : prepare_add_scales(builder, inputs, output, p);
}

/* ---- MUL ---- */

static inline int32_t multiply(const struct binary *p, int32_t x, int32_t y)
{
    int32_t product = (x + p->offset[0]) * (y + p->offset[1]);
    return clamp(p, fixed_add(fixed_rescale(product, p->output_scale), p->output_offset));
}

static inline int32_t multiply_plain(const struct binary *p, int32_t x, int32_t y)
{
    return clamp(p, (int32_t)((uint32_t)x * (uint32_t)y));
}

DEFINE_ROW(mul_int8, ETHOSU_TYPE_INT8, multiply(p, x, y))
DEFINE_ROW(mul_uint8, ETHOSU_TYPE_UINT8, multiply(p, x, y))
DEFINE_ROW(mul_int16, ETHOSU_TYPE_INT16, multiply(p, x, y))
DEFINE_ROW(mul_int32, ETHOSU_TYPE_INT32, multiply_plain(p, x, y))
DEFINE_FLOAT_ROW(mul_float, clamp_float(p, x *y))

static int prepare_mul_quantized(struct builder *builder, const struct tflite_operator_call *call,
                                 const struct kernel_tensor *inputs,
                                 const struct kernel_tensor *output, struct binary *p)
{
    (void)call;
    p->offset[0] = -inputs[0].zero_point;
    p->offset[1] = -inputs[1].zero_point;
    float product = inputs[0].scale * inputs[1].scale;
    return need_rescale(builder, (double)(product / output->scale), &p->output_scale);
}

/* ---- MAXIMUM and MINIMUM: of the stored numbers ---- */

DEFINE_ROW(max_int8, ETHOSU_TYPE_INT8, fixed_max(x, y))
DEFINE_ROW(max_uint8, ETHOSU_TYPE_UINT8, fixed_max(x, y))
DEFINE_ROW(max_int16, ETHOSU_TYPE_INT16, fixed_max(x, y))
DEFINE_ROW(max_int32, ETHOSU_TYPE_INT32, fixed_max(x, y))
DEFINE_FLOAT_ROW(max_float, x > y ? x : y)
DEFINE_ROW(min_int8, ETHOSU_TYPE_INT8, fixed_min(x, y))
DEFINE_ROW(min_uint8, ETHOSU_TYPE_UINT8, fixed_min(x, y))
DEFINE_ROW(min_int16, ETHOSU_TYPE_INT16, fixed_min(x, y))
DEFINE_ROW(min_int32, ETHOSU_TYPE_INT32, fixed_min(x, y))
DEFINE_FLOAT_ROW(min_float, x < y ? x : y)

/* ---- PRELU: the second input is the slope below zero ---- */

static inline int32_t prelu(const struct binary *p, int32_t x, int32_t y)
{
    x += p->offset[0];
    int32_t value =
        x >= 0 ? fixed_rescale(x, p->scale[0]) : fixed_rescale(x * (y + p->offset[1]), p->scale[1]);
    return clamp(p, fixed_add(value, p->output_offset));
}

DEFINE_ROW(prelu_int8, ETHOSU_TYPE_INT8, prelu(p, x, y))
DEFINE_ROW(prelu_uint8, ETHOSU_TYPE_UINT8, prelu(p, x, y))

static int prepare_prelu_quantized(struct builder *builder, const struct tflite_operator_call *call,
                                   const struct kernel_tensor *inputs,
                                   const struct kernel_tensor *output, struct binary *p)
{
    (void)call;
    p->offset[0] = -inputs[0].zero_point;
    p->offset[1] = -inputs[1].zero_point;
    float product = inputs[0].scale * inputs[1].scale;
    TRY(need_rescale(builder, (double)(inputs[0].scale / output->scale), &p->scale[0]));
    return need_rescale(builder, (double)(product / output->scale), &p->scale[1]);
}

/* ---- preparing ---- */

/** An operator's functions for each type. */
struct operation {
    struct binary_rows rows;
    int (*quantized)(struct builder *builder, const struct tflite_operator_call *call,
                     const struct kernel_tensor *inputs, const struct kernel_tensor *output,
                     struct binary *p);
    bool activation; /**< its options have a fused activation */
};

static binary_row *row_of(const struct binary_rows *rows, uint32_t type)
{
    return type == ETHOSU_TYPE_INT8      ? rows->int8
           : type == ETHOSU_TYPE_UINT8   ? rows->uint8
           : type == ETHOSU_TYPE_INT16   ? rows->int16
           : type == ETHOSU_TYPE_INT32   ? rows->int32
           : type == ETHOSU_TYPE_FLOAT32 ? rows->real
                                         : NULL;
}

/** Find the tensors, and check that the operator has their type and can broadcast their shapes. */
static int begin(struct builder *builder, const struct tflite_operator_call *call,
                 const struct binary_rows *rows, struct kernel_tensor *inputs,
                 struct kernel_tensor *output, struct binary *p)
{
    TRY(kernel_tensors(builder, call, inputs, 2, output, 1));
    p->row = row_of(rows, output->type);
    if (p->row == NULL || inputs[0].type != output->type || inputs[1].type != output->type) {
        return kernel_bad_type(builder);
    }
    if (!nd_broadcast(&p->walk, output, inputs, 2)) {
        return kernel_bad(builder, "shapes can't be broadcast to the output's");
    }
    p->output = output->data;
    p->input[0] = inputs[0].data;
    p->input[1] = inputs[1].data;
    p->element_size = output->element_size;
    p->output_offset = output->zero_point;
    return ETHOSU_MODEL_OK;
}

static int prepare_quantized(struct builder *builder, const struct tflite_operator_call *call,
                             const struct operation *operation, uint32_t activation,
                             const struct kernel_tensor *tensors, struct binary *p)
{
    const struct kernel_tensor *output = &tensors[2];
    for (int i = 0; i < 3; i++) {
        TRY(need_quantized(builder, &tensors[i]));
    }
    TRY(range_of_activation(builder, activation, output, &p->range));
    return operation->quantized(builder, call, tensors, output, p);
}

static int prepare_arithmetic(struct builder *builder, const struct tflite_operator_call *call,
                              const struct kernel *kernel)
{
    const struct operation *operation = kernel->variant;
    struct binary binary = {.subtract = kernel->code == TFLITE_SUB};
    struct binary *p = &binary;
    struct kernel_tensor tensors[3];
    const struct kernel_tensor *output = &tensors[2];
    TRY(begin(builder, call, &operation->rows, tensors, &tensors[2], p));
    uint32_t activation =
        operation->activation ? kernel_option_byte(builder, call, OPTION_ACTIVATION, 0) : 0;
    TRY(range_of_floats(builder, activation, &p->low, &p->high));
    if (output->type == ETHOSU_TYPE_INT32) {
        p->range.low = isinf(p->low) ? INT32_MIN : (int32_t)p->low;
        p->range.high = isinf(p->high) ? INT32_MAX : (int32_t)p->high;
    } else if (output->type != ETHOSU_TYPE_FLOAT32) {
        TRY(prepare_quantized(builder, call, operation, activation, tensors, p));
    }
    return kernel_add(builder, kernel, &p->call, nd_block_size(p, &p->walk));
}

static int prepare_extreme(struct builder *builder, const struct tflite_operator_call *call,
                           const struct kernel *kernel)
{
    struct kernel_tensor in[2];
    struct kernel_tensor out;
    struct binary p = {0};
    TRY(begin(builder, call, kernel->variant, in, &out, &p));
    return kernel_add(builder, kernel, &p.call, nd_block_size(&p, &p.walk));
}

#define ADD_ROWS {add_int8, add_uint8, add_int16, add_int32, add_float}
DEFINE_KERNEL(ADD, .prepare = prepare_arithmetic, .run = run_binary,
              .variant = &(const struct operation){ADD_ROWS, prepare_add_quantized, true});
DEFINE_KERNEL(SUB, .prepare = prepare_arithmetic, .run = run_binary,
              .variant = &(const struct operation){ADD_ROWS, prepare_add_quantized, true});
DEFINE_KERNEL(MUL, .prepare = prepare_arithmetic, .run = run_binary,
              .variant = &(const struct operation){
                  {mul_int8, mul_uint8, mul_int16, mul_int32, mul_float},
                  prepare_mul_quantized,
                  true});
DEFINE_KERNEL(PRELU, .prepare = prepare_arithmetic, .run = run_binary,
              .variant = &(const struct operation){
                  {.int8 = prelu_int8, .uint8 = prelu_uint8}, prepare_prelu_quantized, false});
DEFINE_KERNEL(MAXIMUM, .prepare = prepare_extreme, .run = run_binary,
              .variant = &(const struct binary_rows){max_int8, max_uint8, max_int16, max_int32,
                                                     max_float});
DEFINE_KERNEL(MINIMUM, .prepare = prepare_extreme, .run = run_binary,
              .variant = &(const struct binary_rows){min_int8, min_uint8, min_int16, min_int32,
                                                     min_float});
