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
 * clamped to the nearest limit, NaN becomes the zero point.
 */
#include "program_operators.h"

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
    bool wide;  /**< 16 bits, else 8 */
    bool plain; /**< unsigned */
};

/** Read the common arguments. */
static int begin(struct program_builder *program, const struct fb_vector *arguments,
                 struct program_operand *in, struct program_operand *out,
                 struct conversion *conversion, double *scale)
{
    TRY(argument_tensor(program, arguments, ARGUMENT_IN, in));
    TRY(argument_result(program, arguments, out));
    TRY(argument_double(program, arguments, ARGUMENT_SCALE, scale));
    TRY(argument_int(program, arguments, ARGUMENT_ZERO, INT16_MIN, UINT16_MAX,
                     &conversion->zero_point));
    TRY(argument_int(program, arguments, ARGUMENT_LOW, INT16_MIN, UINT16_MAX, &conversion->low));
    TRY(argument_int(program, arguments, ARGUMENT_HIGH, conversion->low, UINT16_MAX,
                     &conversion->high));
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

/** Check both types, and that both tensors have the same number of elements in the same order. */
static int finish(struct program_builder *program, const struct kernel *kernel,
                  const struct program_tensor *real, const struct program_tensor *quantized,
                  struct conversion *conversion)
{
    uint32_t type = quantized->type;
    conversion->plain = type == ETHOSU_TYPE_UINT8 || type == ETHOSU_TYPE_UINT16;
    conversion->wide = type == ETHOSU_TYPE_INT16 || type == ETHOSU_TYPE_UINT16;
    if (real->type != ETHOSU_TYPE_FLOAT32 ||
        (type != ETHOSU_TYPE_INT8 && !conversion->wide && !conversion->plain)) {
        return program_refuse(program, ETHOSU_MODEL_UNSUPPORTED,
                              "tensors are not float32 and 8 or 16-bit integers");
    }
    conversion->count = (int32_t)(real->size / sizeof(float));
    if ((uint32_t)conversion->count != quantized->size >> conversion->wide) {
        return program_refuse(program, ETHOSU_MODEL_BAD_FILE, "tensors differ in size");
    }
    int32_t values = conversion->wide ? UINT16_MAX + 1 : UINT8_MAX + 1;
    int32_t min = conversion->plain ? 0 : -values / 2;
    if (conversion->low < min || conversion->high > min + values - 1) {
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

static void quantize_block(const struct conversion *p, int32_t first, int32_t end)
{
    (p->wide ? quantize_halves : quantize_bytes)(p, first, end);
}

#else

static int32_t quantize(const struct conversion *p, float value)
{
    float steps = nearbyintf(value * p->factor); // ties to even, C's default rounding mode
    float near = isnan(steps) ? 0.0F : fmaxf(fminf(steps, 1e9F), -1e9F);
    int32_t result = (int32_t)near + p->zero_point;
    return result < p->low ? p->low : result > p->high ? p->high : result;
}

static void quantize_block(const struct conversion *p, int32_t first, int32_t end)
{
    const float *input = p->input;
    for (int32_t i = first; i < end; i++) {
        int32_t value = quantize(p, input[i]);
        if (p->wide) {
            ((int16_t *)p->output)[i] = (int16_t)value;
        } else {
            ((int8_t *)p->output)[i] = (int8_t)value;
        }
    }
}

#endif

static int run_quantize(const struct kernel_call *call)
{
    const struct conversion *p = (const struct conversion *)call;
    KERNEL_BLOCKS(call, first, end, p->count)
    {
        quantize_block(p, first, end);
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
    TRY(begin(program, arguments, &in, &out, &conversion, &scale));
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

static void dequantize_block(const struct conversion *p, int32_t first, int32_t end)
{
    (p->plain  ? p->wide ? dequantize_plain_halves : dequantize_plain_bytes
     : p->wide ? dequantize_halves
               : dequantize_bytes)(p, first, end);
}

#else

static void dequantize_block(const struct conversion *p, int32_t first, int32_t end)
{
    float *output = p->output;
    for (int32_t i = first; i < end; i++) {
        int32_t value =
            p->plain  ? p->wide ? ((const uint16_t *)p->input)[i] : ((const uint8_t *)p->input)[i]
             : p->wide ? ((const int16_t *)p->input)[i]
                      : ((const int8_t *)p->input)[i];
        output[i] = (float)(value - p->zero_point) * p->factor;
    }
}

#endif

static int run_dequantize(const struct kernel_call *call)
{
    const struct conversion *p = (const struct conversion *)call;
    KERNEL_BLOCKS(call, first, end, p->count)
    {
        dequantize_block(p, first, end);
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
    TRY(begin(program, arguments, &in, &out, &conversion, &scale));
    conversion.factor = (float)scale;
    return finish(program, &kernel, &out.tensor, &in.tensor, &conversion);
}
