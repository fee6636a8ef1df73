// SPDX-License-Identifier: MIT
/**
 * SVDF of int8: each filter computes one number per frame, keeps the last few in
 * its state, and computes their weighted sum; a unit adds its filters' sums.
 */
#include "runtime/kernels/weighted/weighted.h"

#include <string.h>

enum { INPUT_FRAME, INPUT_FEATURES, INPUT_TIMES, INPUT_BIAS, INPUT_STATE };
enum { OPTION_RANK = 0 };

/** Short sums between two polls; a power of two. */
enum { SUMS_AT_ONCE = 16 };

struct svdf {
    struct kernel_call call;
    const int8_t *input;
    const int8_t *features;      /**< weights of a frame's numbers, per filter */
    const int16_t *time_weights; /**< weights of the past, per filter */
    const int32_t *bias;         /**< or NULL */
    int16_t *state;
    int8_t *output;
    int32_t batches;
    int32_t frame; /**< numbers in a frame */
    int32_t units;
    int32_t rank; /**< filters of a unit */
    int32_t memory;
    int32_t input_offset;
    int32_t output_offset;
    struct rescale to_state;
    struct rescale to_output;
};

/** Shift the state by one number, then append the new frame's number to each filter. */
static void update_state(const struct svdf *p)
{
    int32_t filters = p->units * p->rank;
    size_t count = (size_t)(p->batches * filters * p->memory);
    // Ascending: each block is read before the next one is written.
    KERNEL_BLOCKS(&p->call, first, end, (int32_t)count - 1)
    {
        memmove(p->state + first, p->state + first + 1, (size_t)(end - first) * sizeof *p->state);
    }
    int32_t work = fixed_min(p->frame, DOT_BLOCK) / 4 + 1;
    int32_t together = work <= KERNEL_BLOCK / 4 ? SUMS_AT_ONCE : 1;
    for (int32_t i = 0; i < p->batches * filters; i++) {
        if ((i & (together - 1)) == 0 && kernel_stops(&p->call, together * work)) {
            return;
        }
        const int8_t *frame = p->input + i / filters * p->frame;
        const int8_t *weights = p->features + i % filters * p->frame;
        int64_t sum = any_dot_8(&p->call, frame, weights, p->frame, p->input_offset);
        int32_t value = fixed_rescale((int32_t)sum, p->to_state);
        p->state[i * p->memory + p->memory - 1] = (int16_t)fixed_clamp(value, INT16_MIN, INT16_MAX);
    }
}

static uint32_t sum_block(const int16_t *state, const int16_t *time_weights, int32_t count)
{
    uint32_t sum = 0; // wraps around like the reference
    for (int32_t i = 0; i < count; i++) {
        sum += (uint32_t)(state[i] * time_weights[i]);
    }
    return sum;
}

/** The sum over a unit; long sums poll in between. */
static uint32_t sum_unit(const struct svdf *p, const int16_t *state, const int16_t *time_weights)
{
    int32_t count = p->rank * p->memory;
    if (count <= KERNEL_BLOCK) {
        return sum_block(state, time_weights, count);
    }
    uint32_t sum = 0;
    KERNEL_BLOCKS(&p->call, first, end, count)
    {
        sum += sum_block(state + first, time_weights + first, end - first);
    }
    return sum;
}

static int run_svdf(const struct kernel_call *call)
{
    const struct svdf *p = (const struct svdf *)call;
    int32_t work = fixed_min(p->rank * p->memory, KERNEL_BLOCK) + 1;
    update_state(p);
    for (int32_t i = 0; i < p->batches * p->units; i++) {
        if (i % SUMS_AT_ONCE == 0 && kernel_stops(call, SUMS_AT_ONCE * work)) {
            return ETHOSU_MODEL_STOPPED;
        }
        int32_t unit = i % p->units;
        uint32_t products =
            sum_unit(p, p->state + (size_t)i * (size_t)(p->rank * p->memory),
                     p->time_weights + (size_t)unit * (size_t)(p->rank * p->memory));
        int32_t sum = (int32_t)(products + (uint32_t)(p->bias == NULL ? 0 : p->bias[unit]));
        int32_t value = fixed_add(fixed_rescale(sum, p->to_output), p->output_offset);
        p->output[i] = (int8_t)fixed_clamp(value, INT8_MIN, INT8_MAX);
    }
    return ETHOSU_MODEL_OK;
}

static int check_types(struct builder *builder, const struct kernel_tensor *in,
                       const struct kernel_tensor *out)
{
    static const uint8_t types[] = {
        [INPUT_FRAME] = ETHOSU_TYPE_INT8,  [INPUT_FEATURES] = ETHOSU_TYPE_INT8,
        [INPUT_TIMES] = ETHOSU_TYPE_INT16, [INPUT_BIAS] = ETHOSU_TYPE_INT32,
        [INPUT_STATE] = ETHOSU_TYPE_INT16,
    };
    if (in[INPUT_STATE].type == ETHOSU_TYPE_INT8) { // supported by TFLM, but not by LiteRT
        return kernel_unsupported(builder, "state is int8, expected int16");
    }
    for (int i = 0; i < 5; i++) {
        if (in[i].type != types[i]) {
            return kernel_bad_type(builder);
        }
    }
    if (out->type != ETHOSU_TYPE_INT8) {
        return kernel_bad_type(builder);
    }
    return in[INPUT_STATE].constant || !in[INPUT_STATE].file.variable
               ? kernel_bad(builder, "state is not a variable tensor")
               : ETHOSU_MODEL_OK;
}

static int prepare_scales(struct builder *builder, const struct kernel_tensor *in,
                          const struct kernel_tensor *out, struct svdf *p)
{
    static const int quantized[] = {INPUT_FRAME, INPUT_FEATURES, INPUT_TIMES, INPUT_STATE};
    TRY(need_quantized(builder, out));
    for (int i = 0; i < 4; i++) {
        TRY(need_quantized(builder, &in[quantized[i]]));
    }
    float to_state = in[INPUT_FRAME].scale * in[INPUT_FEATURES].scale / in[INPUT_STATE].scale;
    float to_output = in[INPUT_STATE].scale * in[INPUT_TIMES].scale / out->scale;
    TRY(need_rescale(builder, (double)to_state, &p->to_state));
    return need_rescale(builder, (double)to_output, &p->to_output);
}

/** Find the tensors; the bias is optional. */
static int find_tensors(struct builder *builder, const struct tflite_operator_call *call,
                        struct kernel_tensor *in, struct kernel_tensor *out)
{
    TRY(kernel_output(builder, call, 0, out));
    for (uint32_t i = 0; i < 5; i++) {
        if (i == INPUT_BIAS && !kernel_has_input(builder, call, i)) {
            in[i] = (struct kernel_tensor){.type = ETHOSU_TYPE_INT32, .count = -1};
        } else {
            TRY(kernel_input(builder, call, i, &in[i]));
        }
    }
    return check_types(builder, in, out);
}

static bool shapes_fit(const struct kernel_tensor *in, const struct kernel_tensor *out,
                       int32_t rank)
{
    const struct kernel_tensor *frame = &in[INPUT_FRAME];
    const struct kernel_tensor *features = &in[INPUT_FEATURES];
    const struct kernel_tensor *time_weights = &in[INPUT_TIMES];
    if (frame->rank != 2 || features->rank != 2 || time_weights->rank != 2 || rank <= 0 ||
        features->shape[0] % rank != 0) {
        return false;
    }
    int32_t units = features->shape[0] / rank;
    return features->shape[1] == frame->shape[1] && time_weights->shape[0] == features->shape[0] &&
           (int64_t)frame->shape[0] * time_weights->count == in[INPUT_STATE].count &&
           (int64_t)frame->shape[0] * units == out->count &&
           (in[INPUT_BIAS].count < 0 || in[INPUT_BIAS].count == units);
}

static int prepare_svdf(struct builder *builder, const struct tflite_operator_call *call,
                        const struct kernel *kernel)
{
    struct kernel_tensor in[5];
    struct kernel_tensor out;
    struct svdf p = {.rank = kernel_option(builder, call, OPTION_RANK, 0)};
    TRY(find_tensors(builder, call, in, &out));
    if (!shapes_fit(in, &out, p.rank)) {
        return kernel_bad(builder, "shapes do not match");
    }
    TRY(prepare_scales(builder, in, &out, &p));
    p.input = in[INPUT_FRAME].data;
    p.features = in[INPUT_FEATURES].data;
    p.time_weights = in[INPUT_TIMES].data;
    p.bias = in[INPUT_BIAS].data;
    p.state = in[INPUT_STATE].data;
    p.output = out.data;
    p.batches = in[INPUT_FRAME].shape[0];
    p.frame = in[INPUT_FRAME].shape[1];
    p.units = in[INPUT_FEATURES].shape[0] / p.rank;
    p.memory = in[INPUT_TIMES].shape[1];
    p.input_offset = -in[INPUT_FRAME].zero_point;
    p.output_offset = out.zero_point;
    return kernel_add(builder, kernel, &p.call, sizeof p);
}

DEFINE_KERNEL(SVDF, .prepare = prepare_svdf, .run = run_svdf);
