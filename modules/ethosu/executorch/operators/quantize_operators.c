// SPDX-License-Identifier: MIT
/**
 * quantize_per_tensor and dequantize_per_tensor: convert real values to the NPU's
 * and back, with the arithmetic of ExecuTorch's portable kernels
 * (kernels/quantized/cpu of pytorch/executorch 1.5):
 *
 *     quantize:   round(x * (1 / scale)) + zero point, all in float; ties to even; limited
 *     dequantize: (q - zero point) * scale, in float
 *
 * Cases that are undefined there: infinities and numbers that are too large are
 * clamped to the nearest limit, NaN becomes the zero point; q - zero point wraps at 32 bits.
 */
#include "executorch/build/program_operators.h"

#include "driver/base/ethosu_count.h"

#include <math.h>

#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 2)
#include <arm_mve.h>
#define HAS_MVE 1
#else
#define HAS_MVE 0
#endif

/** Arguments: tensor, scale, zero point, smallest and largest value, type, …, result, result. */
enum argument { ARGUMENT_IN, ARGUMENT_SCALE, ARGUMENT_ZERO, ARGUMENT_LOW, ARGUMENT_HIGH };

struct conversion {
    struct kernel_call call;
    const void *input;
    void *output;
    int32_t count;
    float factor;
    int32_t zero_point;
    int32_t low;
    int32_t high;
    uint8_t type; /**< of the integers: enum ethosu_model_type */
};

/** Read the common arguments; `quantizes`: the result has the integers, else the input. */
static int begin(struct program_builder *program, const struct fb_vector *arguments, bool quantizes,
                 struct program_operand *in, struct program_operand *out,
                 struct conversion *conversion, double *scale)
{
    TRY(argument_tensor(program, arguments, ARGUMENT_IN, in));
    TRY(argument_result(program, arguments, out));
    TRY(argument_double(program, arguments, ARGUMENT_SCALE, scale));
    bool words = (quantizes ? out : in)->tensor.type == ETHOSU_TYPE_INT32;
    int32_t low = words ? INT32_MIN : INT16_MIN;
    int32_t high = words ? INT32_MAX : UINT16_MAX;
    TRY(argument_int(program, arguments, ARGUMENT_ZERO, low, high, &conversion->zero_point));
    TRY(argument_int(program, arguments, ARGUMENT_LOW, low, high, &conversion->low));
    TRY(argument_int(program, arguments, ARGUMENT_HIGH, conversion->low, high, &conversion->high));
    conversion->input = in->data;
    conversion->output = out->data;
    const float real = (float)*scale;
    if (real > 0.0F && isfinite(real)) {
        return ETHOSU_MODEL_OK;
    }
    struct ethosu_model_error why;
    error_set(&why, 0, "argument 1 (scale) is %s: expected a finite number above 0",
              real < 0.0F    ? "below 0"
              : real == 0.0F ? "0 as float32"
              : isinf(real)  ? "infinite"
                             : "not a number");
    return program_refuse(program, ETHOSU_MODEL_BAD_FILE, why.text);
}

/** Limits of the integer types; both are 0 for other types. */
static const struct {
    int32_t low;
    int32_t high;
} limits[] = {
    [ETHOSU_TYPE_INT8] = {INT8_MIN, INT8_MAX},    [ETHOSU_TYPE_UINT8] = {0, UINT8_MAX},
    [ETHOSU_TYPE_INT16] = {INT16_MIN, INT16_MAX}, [ETHOSU_TYPE_UINT16] = {0, UINT16_MAX},
    [ETHOSU_TYPE_INT32] = {INT32_MIN, INT32_MAX},
};

/** Check both types, and that both tensors have the same number of elements in the same order. */
static int finish(struct program_builder *program, const struct kernel *kernel,
                  const struct program_tensor *real, const struct program_tensor *quantized,
                  struct conversion *conversion)
{
    uint32_t type = quantized->type;
    conversion->type = (uint8_t)type;
    if (real->type != ETHOSU_TYPE_FLOAT32 || type >= COUNT(limits) || limits[type].high == 0) {
        return program_refuse(program, ETHOSU_MODEL_UNSUPPORTED,
                              "tensors are not float32 and 8, 16 or signed 32-bit integers");
    }
    conversion->count = (int32_t)(real->size / sizeof(float));
    if ((uint32_t)conversion->count != quantized->size / ethosu_model_type_size(type)) {
        return program_refuse(program, ETHOSU_MODEL_BAD_FILE, "tensors differ in size");
    }
    if (conversion->low < limits[type].low || conversion->high > limits[type].high) {
        return program_refuse(program, ETHOSU_MODEL_BAD_FILE, "limits do not match the type");
    }
    return kernel_add_step(program->builder, kernel, &conversion->call, sizeof *conversion);
}

/* ---- quantize ---- */

#if HAS_MVE

/** Four values; `p` is a copy, so that the compiler keeps it in registers. */
static inline int32x4_t quantize_4(struct conversion p, float32x4_t values)
{
    int32x4_t steps = vcvtnq_s32_f32(vmulq_n_f32(values, p.factor));
    int32x4_t value = vqaddq_n_s32(steps, p.zero_point);
    return vminq_s32(vmaxq_s32(value, vdupq_n_s32(p.low)), vdupq_n_s32(p.high));
}

/** `type` is the element's, `store` and `store_some` write four of them. */
#define QUANTIZE(name, type, store, store_some)                                             \
    static void name(const struct conversion *block, int32_t first, int32_t end)            \
    {                                                                                       \
        const struct conversion p = *block;                                                 \
        const float *input = (const float *)p.input + first;                                \
        type *output = (type *)p.output + first;                                            \
        for (int32_t left = (end - first) / 4; left > 0; left--, input += 4, output += 4) { \
            store(output, quantize_4(p, vldrwq_f32(input)));                                \
        }                                                                                   \
        mve_pred16_t rest = vctp32q((uint32_t)(end - first) % 4);                           \
        store_some(output, quantize_4(p, vldrwq_z_f32(input, rest)), rest);                 \
    }
QUANTIZE(quantize_bytes, int8_t, vstrbq_s32, vstrbq_p_s32)
QUANTIZE(quantize_halves, int16_t, vstrhq_s32, vstrhq_p_s32)

#else

static int32_t quantize(const struct conversion *p, float value)
{
    float steps = nearbyintf(value * p->factor); // ties to even, C's default rounding mode
    float near = isnan(steps) ? 0.0F : fmaxf(fminf(steps, 1e9F), -1e9F);
    int32_t result = (int32_t)near + p->zero_point;
    return result < p->low ? p->low : result > p->high ? p->high : result;
}

#define QUANTIZE(name, type)                                                     \
    static void name(const struct conversion *block, int32_t first, int32_t end) \
    {                                                                            \
        const float *input = block->input;                                       \
        for (int32_t i = first; i < end; i++) {                                  \
            ((type *)block->output)[i] = (type)quantize(block, input[i]);        \
        }                                                                        \
    }
QUANTIZE(quantize_bytes, int8_t)
QUANTIZE(quantize_halves, int16_t)

#endif

/** The sum with the zero point is a float too, which matters only here: beyond 2^24. */
static void quantize_words(const struct conversion *p, int32_t first, int32_t end)
{
    const float *input = p->input;
    for (int32_t i = first; i < end; i++) {
        float steps = nearbyintf(input[i] * p->factor);
        float sum = (float)p->zero_point + (isnan(steps) ? 0.0F : steps);
        int32_t value = sum >= 0x1p31F ? INT32_MAX : sum < -0x1p31F ? INT32_MIN : (int32_t)sum;
        ((int32_t *)p->output)[i] = value < p->low ? p->low : value > p->high ? p->high : value;
    }
}

static int run_quantize(const struct kernel_call *call)
{
    const struct conversion *p = (const struct conversion *)call;
    static void (*const blocks[])(const struct conversion *p, int32_t first, int32_t end) = {
        [ETHOSU_TYPE_INT8] = quantize_bytes,   [ETHOSU_TYPE_UINT8] = quantize_bytes,
        [ETHOSU_TYPE_INT16] = quantize_halves, [ETHOSU_TYPE_UINT16] = quantize_halves,
        [ETHOSU_TYPE_INT32] = quantize_words,
    };
    KERNEL_BLOCKS(call, first, end, p->count)
    {
        blocks[p->type](p, first, end);
    }
    return ETHOSU_MODEL_OK;
}

int prepare_quantize(struct program_builder *program, const struct fb_vector *arguments)
{
    static const struct kernel kernel = {.run = run_quantize};
    struct program_operand in;
    struct program_operand out;
    struct conversion conversion;
    double scale;
    TRY(begin(program, arguments, true, &in, &out, &conversion, &scale));
    conversion.factor = 1.0F / (float)scale;
    return finish(program, &kernel, &in.tensor, &out.tensor, &conversion);
}

/* ---- dequantize ---- */

#if HAS_MVE

static inline float32x4_t dequantize_4(struct conversion p, int32x4_t values)
{
    return vmulq_n_f32(vcvtq_f32_s32(vsubq_n_s32(values, p.zero_point)), p.factor);
}

static inline int32x4_t load_u8(const uint8_t *from)
{
    return vreinterpretq_s32_u32(vldrbq_u32(from));
}

static inline int32x4_t load_some_u8(const uint8_t *from, mve_pred16_t some)
{
    return vreinterpretq_s32_u32(vldrbq_z_u32(from, some));
}

static inline int32x4_t load_u16(const uint16_t *from)
{
    return vreinterpretq_s32_u32(vldrhq_u32(from));
}

static inline int32x4_t load_some_u16(const uint16_t *from, mve_pred16_t some)
{
    return vreinterpretq_s32_u32(vldrhq_z_u32(from, some));
}

/** `type` is the element's, `load` and `load_some` read four of them. */
#define DEQUANTIZE(name, type, load, load_some)                                             \
    static void name(const struct conversion *block, int32_t first, int32_t end)            \
    {                                                                                       \
        const struct conversion p = *block;                                                 \
        const type *input = (const type *)p.input + first;                                  \
        float *output = (float *)p.output + first;                                          \
        for (int32_t left = (end - first) / 4; left > 0; left--, input += 4, output += 4) { \
            vstrwq_f32(output, dequantize_4(p, load(input)));                               \
        }                                                                                   \
        mve_pred16_t rest = vctp32q((uint32_t)(end - first) % 4);                           \
        vstrwq_p_f32(output, dequantize_4(p, load_some(input, rest)), rest);                \
    }
DEQUANTIZE(dequantize_bytes, int8_t, vldrbq_s32, vldrbq_z_s32)
DEQUANTIZE(dequantize_halves, int16_t, vldrhq_s32, vldrhq_z_s32)
DEQUANTIZE(dequantize_plain_bytes, uint8_t, load_u8, load_some_u8)
DEQUANTIZE(dequantize_plain_halves, uint16_t, load_u16, load_some_u16)
DEQUANTIZE(dequantize_words, int32_t, vldrwq_s32, vldrwq_z_s32)

#else

#define DEQUANTIZE(name, type)                                                           \
    static void name(const struct conversion *block, int32_t first, int32_t end)         \
    {                                                                                    \
        float *output = block->output;                                                   \
        for (int32_t i = first; i < end; i++) {                                          \
            uint32_t steps =                                                             \
                (uint32_t)((const type *)block->input)[i] - (uint32_t)block->zero_point; \
            output[i] = (float)(int32_t)steps * block->factor;                           \
        }                                                                                \
    }
DEQUANTIZE(dequantize_bytes, int8_t)
DEQUANTIZE(dequantize_halves, int16_t)
DEQUANTIZE(dequantize_plain_bytes, uint8_t)
DEQUANTIZE(dequantize_plain_halves, uint16_t)
DEQUANTIZE(dequantize_words, int32_t)

#endif

static int run_dequantize(const struct kernel_call *call)
{
    const struct conversion *p = (const struct conversion *)call;
    static void (*const blocks[])(const struct conversion *p, int32_t first, int32_t end) = {
        [ETHOSU_TYPE_INT8] = dequantize_bytes,   [ETHOSU_TYPE_UINT8] = dequantize_plain_bytes,
        [ETHOSU_TYPE_INT16] = dequantize_halves, [ETHOSU_TYPE_UINT16] = dequantize_plain_halves,
        [ETHOSU_TYPE_INT32] = dequantize_words,
    };
    KERNEL_BLOCKS(call, first, end, p->count)
    {
        blocks[p->type](p, first, end);
    }
    return ETHOSU_MODEL_OK;
}

int prepare_dequantize(struct program_builder *program, const struct fb_vector *arguments)
{
    static const struct kernel kernel = {.run = run_dequantize};
    struct program_operand in;
    struct program_operand out;
    struct conversion conversion;
    double scale;
    TRY(begin(program, arguments, false, &in, &out, &conversion, &scale));
    conversion.factor = (float)scale;
    return finish(program, &kernel, &out.tensor, &in.tensor, &conversion);
}
