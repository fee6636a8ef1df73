// SPDX-License-Identifier: MIT
/** RELU, RELU6, RELU_0_TO_1, RELU_N1_TO_1, LEAKY_RELU, HARD_SWISH, LOGISTIC, TANH. */
#include "runtime/kernels/element/unary.h"

#include "runtime/kernels/element/sigmoid_table.h"

#include <math.h>

/** Field of LEAKY_RELU's options. */
enum { OPTION_ALPHA = 0 };

/* ---- ReLU family ---- */

static int32_t relu(const struct unary *p, int32_t value)
{
    int32_t scaled = fixed_rescale(value - p->input_zero_point, p->scale[0]);
    return fixed_clamp(fixed_add(p->output_zero_point, scaled), p->range.low, p->range.high);
}

struct bounds {
    float low, high;
};

static int prepare_clamp(struct builder *builder, const struct tflite_operator_call *call,
                         const struct kernel *kernel)
{
    const struct bounds *bounds = kernel->variant;
    struct kernel_tensor in;
    struct kernel_tensor out;
    struct unary p = {.function = relu};
    TRY(unary_begin_quantized(builder, call, &in, &out, &p));
    TRY(need_rescale(builder, (double)(in.scale / out.scale), &p.scale[0]));
    p.range.low = quantize_bound(bounds->low, &out, p.range);
    p.range.high = quantize_bound(bounds->high, &out, p.range);
    return unary_finish(builder, kernel, &p);
}

DEFINE_KERNEL(RELU, .prepare = prepare_clamp, .run = unary_run,
              .variant = &(const struct bounds){0.0F, INFINITY});
DEFINE_KERNEL(RELU6, .prepare = prepare_clamp, .run = unary_run,
              .variant = &(const struct bounds){0.0F, 6.0F});
DEFINE_KERNEL(RELU_0_TO_1, .prepare = prepare_clamp, .run = unary_run,
              .variant = &(const struct bounds){0.0F, 1.0F});
DEFINE_KERNEL(RELU_N1_TO_1, .prepare = prepare_clamp, .run = unary_run,
              .variant = &(const struct bounds){-1.0F, 1.0F});

/* ---- LEAKY_RELU ---- */

static int32_t leaky_relu(const struct unary *p, int32_t value)
{
    value -= p->input_zero_point;
    value = fixed_rescale(value, p->scale[value < 0]);
    return fixed_clamp(fixed_add(p->output_zero_point, value), p->range.low, p->range.high);
}

static int prepare_leaky_relu(struct builder *builder, const struct tflite_operator_call *call,
                              const struct kernel *kernel)
{
    struct kernel_tensor in;
    struct kernel_tensor out;
    struct unary p = {.function = leaky_relu};
    float alpha = kernel_option_float(builder, call, OPTION_ALPHA, 0.0F);
    TRY(unary_begin_quantized(builder, call, &in, &out, &p));
    TRY(need_rescale(builder, (double)(in.scale / out.scale), &p.scale[0]));
    float slope = in.scale * alpha / out.scale;
    TRY(need_rescale(builder, (double)fabsf(slope), &p.scale[1]));
    if (slope < 0) {
        p.scale[1].multiplier = -p.scale[1].multiplier;
    }
    return unary_finish(builder, kernel, &p);
}

DEFINE_KERNEL(LEAKY_RELU, .prepare = prepare_leaky_relu, .run = unary_run);

/* ---- HARD_SWISH: in 16 bits throughout ---- */

static int32_t saturate_16(int64_t value)
{
    return value < INT16_MIN ? INT16_MIN : value > INT16_MAX ? INT16_MAX : (int32_t)value;
}

/** a * b / 2^15 of 16-bit numbers, rounded to nearest, halves away from zero. */
static int32_t high_mul_16(int32_t a, int32_t b)
{
    int32_t product = a * b;
    int32_t nudge = product >= 0 ? 1 << 14 : 1 - (1 << 14);
    return saturate_16((product + nudge) / (1 << 15));
}

static int32_t hard_swish(const struct unary *p, int32_t value)
{
    const struct rescale *to_output = &p->scale[0];
    const struct rescale *to_gate = &p->scale[1];
    int32_t fine = (int16_t)((value - p->input_zero_point) * (1 << 7));
    int32_t gate = fine;
    // Both shifts saturate; only the last one may take effect.
    if (to_gate->shift > 0) {
        gate = saturate_16((int64_t)gate * ((int64_t)1 << (to_gate->shift - 1)));
    }
    gate = high_mul_16(gate, to_gate->multiplier);
    if (to_gate->shift > 0) {
        gate = saturate_16((int64_t)gate * 2);
    } else if (to_gate->shift < 0) {
        gate = fixed_divide_pot(gate, -to_gate->shift);
    }
    gate = (gate + (1 << 15)) >> 1; // from [-1, 1] to [0, 1]
    int32_t product = saturate_16(gate * high_mul_16(fine, to_output->multiplier) / (1 << 15));
    int32_t result = fixed_divide_pot(product, -to_output->shift) + p->output_zero_point;
    return fixed_clamp(result, p->range.low, p->range.high);
}

/** Halve the precision of a multiplier. */
static void to_16_bits(struct rescale *scale)
{
    scale->multiplier = scale->multiplier >= INT32_MAX - (1 << 15)
                            ? INT16_MAX
                            : (scale->multiplier + (1 << 15)) >> 16;
}

static int prepare_hard_swish(struct builder *builder, const struct tflite_operator_call *call,
                              const struct kernel *kernel)
{
    struct kernel_tensor in;
    struct kernel_tensor out;
    struct unary p = {.function = hard_swish};
    TRY(unary_begin_quantized(builder, call, &in, &out, &p));
    if (in.type == ETHOSU_TYPE_INT16) {
        return kernel_bad_type(builder);
    }
    float fine_scale = (1.0F / 128.0F) * in.scale;
    float gate_scale = 3.0F / 32768.0F;
    if (!rescale_from((double)(fine_scale / out.scale), &p.scale[0]) || p.scale[0].shift > 0 ||
        !rescale_from((double)(fine_scale / gate_scale), &p.scale[1])) {
        return kernel_unsupported(builder, "scales are too far apart");
    }
    to_16_bits(&p.scale[0]);
    to_16_bits(&p.scale[1]);
    return unary_finish(builder, kernel, &p);
}

DEFINE_KERNEL(HARD_SWISH, .prepare = prepare_hard_swish, .run = unary_run);

/* ---- LOGISTIC and TANH ---- */

/** 8 bits: computed with real numbers, once per table entry. */
static int32_t from_real(const struct unary *p, float value)
{
    float steps = roundf(value * (1.0F / p->output_scale)) + (float)p->output_zero_point;
    return (int32_t)fminf(fmaxf(steps, (float)p->range.low), (float)p->range.high);
}

static float to_real(const struct unary *p, int32_t value)
{
    return p->input_scale * (float)(value - p->input_zero_point);
}

static int32_t logistic_8(const struct unary *p, int32_t value)
{
    return from_real(p, 1.0F / (1.0F + expf(-to_real(p, value))));
}

static int32_t tanh_8(const struct unary *p, int32_t value)
{
    return from_real(p, tanhf(to_real(p, value)));
}

/** The input as a fixed-point table position, with 24 entries per unit. */
static int32_t table_position(const struct unary *p, int32_t value)
{
    int32_t shift = p->scale[0].shift;
    int32_t nudge = shift > 0 ? 1 << (shift - 1) : 0;
    return (int32_t)((uint32_t)value * (uint32_t)p->scale[0].multiplier + (uint32_t)nudge) >> shift;
}

/** The sigmoid between two table entries; `bits` of the position are fraction. */
static uint32_t interpolate(uint32_t position, uint32_t bits)
{
    uint32_t index = position >> bits;
    uint32_t below = sigmoid_table[index];
    uint32_t fraction = position & ((1u << bits) - 1u);
    return (below << bits) + fraction * (sigmoid_table[index + 1] - below);
}

static uint32_t magnitude(int32_t value)
{
    return value < 0 ? 0u - (uint32_t)value : (uint32_t)value;
}

static int32_t logistic_16(const struct unary *p, int32_t value)
{
    int32_t position = table_position(p, value);
    uint32_t distance = magnitude(position);
    uint32_t result = distance >> 9 >= 255 ? 0x7FFFu << 10 : interpolate(distance, 9);
    result = position >= 0 ? result + (1u << 9) : (1u << 25) - result + (1u << 9) - 1u;
    return (int32_t)(result >> 10);
}

/** tanh(x) = 2 sigmoid(2x) - 1, so position and result are doubled. */
static int32_t tanh_16(const struct unary *p, int32_t value)
{
    int32_t position = table_position(p, value);
    uint32_t distance = magnitude(position);
    int32_t result = distance >> 8 >= 255 ? 0xFFFF << 8 : (int32_t)interpolate(distance, 8);
    result = position >= 0 ? result - (1 << 23) + (1 << 7) : -result + (1 << 23) + (1 << 7) - 1;
    return result >> 8;
}

/** The input's scale as multiplier and right shift; powers of two need no shift. */
static int scale_position(struct builder *builder, float scale, int32_t most_shift,
                          struct rescale *position)
{
    float logarithm = logf(scale) * (1.0F / logf(2.0F));
    float rounded = roundf(logarithm);
    int32_t shift = 12 + (int32_t)rounded;
    if (fabsf(logarithm - rounded) < 1e-3F && shift >= 0 && shift <= most_shift) {
        *position = (struct rescale){3 << shift, 0};
        return ETHOSU_MODEL_OK;
    }
    double multiplier = (double)scale * (4096 * 3);
    for (shift = 0; 2 * multiplier <= INT16_MAX && shift <= 30; shift++) {
        multiplier *= 2;
    }
    if (multiplier > INT16_MAX || shift > 30) {
        return kernel_unsupported(builder, "input scale is out of range");
    }
    *position = (struct rescale){(int32_t)multiplier, shift};
    return ETHOSU_MODEL_OK;
}

struct sigmoid {
    int32_t (*narrow)(const struct unary *p, int32_t value);
    int32_t (*wide)(const struct unary *p, int32_t value);
    int32_t most_shift;
};

static int prepare_sigmoid(struct builder *builder, const struct tflite_operator_call *call,
                           const struct kernel *kernel)
{
    const struct sigmoid *sigmoid = kernel->variant;
    struct kernel_tensor in;
    struct kernel_tensor out;
    struct unary p = {.function = sigmoid->narrow};
    TRY(unary_begin_quantized(builder, call, &in, &out, &p));
    p.input_scale = in.scale;
    p.output_scale = out.scale;
    if (in.type == ETHOSU_TYPE_INT16) {
        p.function = sigmoid->wide;
        TRY(scale_position(builder, in.scale, sigmoid->most_shift, &p.scale[0]));
        if (fabsf(out.scale * 32768.0F - 1.0F) > 1e-3F) {
            return kernel_unsupported(builder, "output scale is not 1/32768");
        }
    }
    return unary_finish(builder, kernel, &p);
}

DEFINE_KERNEL(LOGISTIC, .prepare = prepare_sigmoid, .run = unary_run,
              .variant = &(const struct sigmoid){logistic_8, logistic_16, 0});
DEFINE_KERNEL(TANH, .prepare = prepare_sigmoid, .run = unary_run,
              .variant = &(const struct sigmoid){tanh_8, tanh_16, 1});
