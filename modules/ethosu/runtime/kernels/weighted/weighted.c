// SPDX-License-Identifier: MIT
/** Prepares the operators with weights, and stores their results; see weighted.h. */
#include "runtime/kernels/weighted/weighted.h"

#include <math.h>
#include <string.h>

static int check_types(struct builder *builder, const struct kernel_tensor *input,
                       const struct kernel_tensor *filter, const struct kernel_tensor *output)
{
    TRY(need_quantized(builder, input));
    TRY(need_quantized(builder, output));
    if (input->type == ETHOSU_TYPE_UINT8 || input->type != output->type) {
        return kernel_bad_type(builder);
    }
    TRY(need_quantized(builder, filter));
    if (filter->type != ETHOSU_TYPE_INT8) {
        return kernel_bad_type(builder);
    }
    return ETHOSU_MODEL_OK;
}

/** How sums of int16 are added: as the options say, or by the bias, if they say nothing. */
static int find_mode(struct builder *builder, const struct tflite_operator_call *call,
                     const struct kernel_tensor *input, const struct weighted_fields *fields,
                     struct weighted *weighted)
{
    weighted->mode = input->type == ETHOSU_TYPE_INT8 ? SUM_8 : SUM_16;
    if (weighted->mode == SUM_8 || fields->bias_type == NO_BIAS_TYPE) {
        return ETHOSU_MODEL_OK;
    }
    uint32_t type = kernel_option_byte(builder, call, fields->bias_type, 0);
    if (type == 0 && kernel_has_input(builder, call, fields->bias_input)) {
        struct kernel_tensor bias;
        TRY(kernel_input(builder, call, fields->bias_input, &bias));
        type = bias.type;
    }
    weighted->mode = type == ETHOSU_TYPE_INT32 ? SUM_16_32 : SUM_16;
    return ETHOSU_MODEL_OK;
}

static int find_bias(struct builder *builder, const struct tflite_operator_call *call,
                     uint32_t input, int32_t channels, struct weighted *weighted)
{
    struct kernel_tensor bias;
    weighted->narrow = true;
    if (!kernel_has_input(builder, call, input)) {
        return ETHOSU_MODEL_OK;
    }
    TRY(kernel_input(builder, call, input, &bias));
    weighted->bias_64 = bias.type == ETHOSU_TYPE_INT64;
    bool wide = weighted->mode == SUM_16;
    if (wide ? !weighted->bias_64 : bias.type != ETHOSU_TYPE_INT32) {
        return kernel_bad_type(builder);
    }
    if (bias.count != channels) {
        return kernel_bad(builder, "bias does not have one value per channel");
    }
    TRY(build_work(builder, (uint32_t)channels));
    weighted->bias = bias.data;
    weighted->narrow = bias.constant;
    for (int32_t i = 0; i < channels && weighted->narrow && weighted->bias_64; i++) {
        int64_t value; // copied with memcpy because it may be misaligned while measuring
        memcpy(&value, (const uint8_t *)bias.data + (size_t)i * sizeof value, sizeof value);
        weighted->narrow = value >= INT32_MIN && value <= INT32_MAX;
    }
    return ETHOSU_MODEL_OK;
}

static int find_scales(struct builder *builder, const struct kernel_tensor *input,
                       const struct kernel_tensor *filter, const struct kernel_tensor *output,
                       int32_t channels, const struct weighted_fields *fields,
                       struct weighted *weighted)
{
    weighted->per_channel = filter->channels > 1 || fields->scale_each;
    uint32_t count = weighted->per_channel ? (uint32_t)channels : 1;
    if (filter->channels != 1 && filter->channels != count) {
        return kernel_bad(builder, "weights have neither one scale nor one per channel");
    }
    void *memory;
    TRY(kernel_table(builder, 2 * (size_t)count, sizeof(int32_t), &memory));
    int32_t *table = memory;
    weighted->multipliers = table;
    weighted->shifts = table == NULL ? NULL : table + count;
    for (uint32_t i = 0; i < count; i++) {
        TRY(build_work_at(builder, i));
        float scale;
        int32_t zero_point;
        struct rescale rescale;
        uint32_t channel = filter->channels > 1 ? i : 0;
        tflite_get_channel(&builder->file, &filter->file, channel, &scale, &zero_point);
        double product = (double)input->scale * (double)scale;
        if (fields->single_precision && !weighted->per_channel) {
            product = (double)(float)product;
        }
        TRY(need_rescale(builder, product / (double)output->scale, &rescale));
        // The 64-bit form shifts by 15 bits minus the factor's shift.
        if (weighted->mode == SUM_16 && rescale.shift > 7) {
            return kernel_bad(builder, "combined scale is too large");
        }
        weighted->narrow = weighted->narrow && rescale.shift <= -2;
        if (table != NULL) {
            table[i] = rescale.multiplier;
            table[count + i] = rescale.shift;
        }
    }
    return ETHOSU_MODEL_OK;
}

int weighted_prepare(struct builder *builder, const struct tflite_operator_call *call,
                     const struct kernel_tensor *input, const struct kernel_tensor *filter,
                     const struct kernel_tensor *output, const struct weighted_fields *fields,
                     struct weighted *weighted)
{
    TRY(check_types(builder, input, filter, output));
    int32_t channels = filter->shape[fields->channel_axis];
    TRY(find_mode(builder, call, input, fields, weighted));
    TRY(find_bias(builder, call, fields->bias_input, channels, weighted));
    TRY(find_scales(builder, input, filter, output, channels, fields, weighted));
    TRY(range_of_activation(builder, kernel_option_byte(builder, call, fields->activation, 0),
                            output, &weighted->range));
    weighted->input_offset = -input->zero_point;
    weighted->output_offset = output->zero_point;
    return ETHOSU_MODEL_OK;
}

int64_t long_dot_8(const struct kernel_call *call, const int8_t *values, const int8_t *weights,
                   int32_t count, int32_t value_offset)
{
    uint32_t sum = 0;
    for (int32_t at = 0; at < count && !kernel_stops(call, DOT_BLOCK / 4); at += DOT_BLOCK) {
        int32_t part = fixed_min(count - at, DOT_BLOCK);
        sum += (uint32_t)dot_8(values + at, weights + at, part, value_offset);
    }
    return (int32_t)sum;
}

int64_t long_dot_16(const struct kernel_call *call, const int16_t *values, const int8_t *weights,
                    int32_t count)
{
    int64_t sum = 0;
    for (int32_t at = 0; at < count && !kernel_stops(call, DOT_BLOCK / 4); at += DOT_BLOCK) {
        sum += dot_16(values + at, weights + at, fixed_min(count - at, DOT_BLOCK));
    }
    return sum;
}

int window_prepare(struct builder *builder, uint32_t padding, struct window *window)
{
    const int64_t most = 1 << 20;
    if (window->size <= 0 || window->stride <= 0 || window->dilation <= 0 || window->size > most ||
        window->stride > most || window->dilation > most || padding > PADDING_VALID) {
        return kernel_bad(builder, "kernel size, stride, dilation or padding is invalid");
    }
    int64_t covered = (int64_t)(window->size - 1) * window->dilation + 1;
    int64_t room = window->input + (int64_t)window->stride;
    int64_t output = (padding == PADDING_SAME ? room - 1 : room - covered) / window->stride;
    int64_t padded = (output - 1) * window->stride + covered - window->input;
    // Limited to half the range each, so that no position inside or outside the image overflows.
    if (output <= 0 || output > INT32_MAX || padded > INT32_MAX / 2 || covered > INT32_MAX / 2) {
        return kernel_bad(builder, "kernel is larger than the input");
    }
    window->output = (int32_t)output;
    window->pad = padded > 0 ? (int32_t)(padded / 2) : 0;
    return ETHOSU_MODEL_OK;
}

int window_2d_prepare(struct builder *builder, const struct tflite_operator_call *call,
                      const struct window_fields *fields, const struct kernel_tensor *image,
                      int32_t height, int32_t width, struct window_2d *window)
{
    uint32_t padding = kernel_option_byte(builder, call, fields->padding, PADDING_SAME);
    bool dilated = fields->dilation_h != 0;
    window->y = (struct window){
        .input = image->shape[1],
        .size = height,
        .stride = kernel_option(builder, call, fields->stride_h, 0),
        .dilation = dilated ? kernel_option(builder, call, fields->dilation_h, 1) : 1,
    };
    window->x = (struct window){
        .input = image->shape[2],
        .size = width,
        .stride = kernel_option(builder, call, fields->stride_w, 0),
        .dilation = dilated ? kernel_option(builder, call, fields->dilation_w, 1) : 1,
    };
    TRY(window_prepare(builder, padding, &window->y));
    return window_prepare(builder, padding, &window->x);
}

/** Check that input, filter and output have four dimensions and match the window. */
static int prepare_window(struct builder *builder, const struct tflite_operator_call *call,
                          const struct weighted_image *image, const struct kernel_tensor in[2],
                          const struct kernel_tensor *out, struct window_2d *window)
{
    if (in[0].rank != 4 || in[1].rank != 4 || out->rank != 4) {
        return kernel_bad(builder, "tensors do not have 4 dimensions");
    }
    TRY(window_2d_prepare(builder, call, &image->window, &in[0], in[1].shape[1], in[1].shape[2],
                          window));
    bool fits = out->shape[0] == in[0].shape[0] && out->shape[1] == window->y.output &&
                out->shape[2] == window->x.output && image->channels_fit(&in[0], &in[1], out);
    return fits ? ETHOSU_MODEL_OK : kernel_bad(builder, "shapes do not match");
}

int weighted_image_prepare(struct builder *builder, const struct tflite_operator_call *call,
                           const struct weighted_image *image, struct weighted_call *p)
{
    struct kernel_tensor in[2];
    struct kernel_tensor out;
    TRY(kernel_tensors(builder, call, in, 2, &out, 1));
    TRY(prepare_window(builder, call, image, in, &out, &p->window));
    TRY(weighted_prepare(builder, call, &in[0], &in[1], &out, &image->weighted, &p->weighted));
    p->input = in[0].data;
    p->filter = in[1].data;
    p->output = out.data;
    p->batches = in[0].shape[0];
    p->depth = in[0].shape[3];
    p->filter_depth = in[1].shape[3];
    p->filters = out.shape[3];
    p->wide = in[0].type == ETHOSU_TYPE_INT16;
    return ETHOSU_MODEL_OK;
}

/** The value of a channel. */
static int32_t finish(const struct weighted *p, int64_t sum, int32_t channel)
{
    int32_t at = p->per_channel ? channel : 0;
    struct rescale scale = {p->multipliers[at], p->shifts[at]};
    if (p->bias != NULL) {
        int64_t bias =
            p->bias_64 ? ((const int64_t *)p->bias)[channel] : ((const int32_t *)p->bias)[channel];
        sum = (int64_t)((uint64_t)sum + (uint64_t)bias);
    }
    int32_t value =
        p->mode == SUM_16 ? fixed_rescale_64(sum, scale) : fixed_rescale((int32_t)sum, scale);
    return fixed_clamp(fixed_add(value, p->output_offset), p->range.low, p->range.high);
}

#if defined(__ARM_FEATURE_MVE)
/** Same as finish(), four channels at a time. */
static void store_8(const struct weighted *p, const int32_t *sums, int32_t first, int32_t count,
                    int8_t *values)
{
    const int32_t *bias = p->bias;
    const int32x4_t zero = vdupq_n_s32(0);
    for (int32_t i = 0; i < count; i += 4) {
        int32_t at = first + i;
        mve_pred16_t rest = vctp32q((uint32_t)(count - i));
        int32x4_t sum = vldrwq_z_s32(sums + i, rest);
        int32x4_t multiplier = p->per_channel ? vldrwq_z_s32(p->multipliers + at, rest)
                                              : vdupq_n_s32(p->multipliers[0]);
        int32x4_t shift =
            p->per_channel ? vldrwq_z_s32(p->shifts + at, rest) : vdupq_n_s32(p->shifts[0]);
        if (bias != NULL) {
            sum = vaddq_s32(sum, vldrwq_z_s32(bias + at, rest));
        }
        int32x4_t right = vminq_s32(shift, zero);
        int32x4_t value = vqrdmulhq_s32(vshlq_s32(sum, vmaxq_s32(shift, zero)), multiplier);
        // Rounds halves away from zero; the rounding shift alone would round them upwards.
        value = vqaddq_s32(value, vshrq_n_s32(vandq_s32(value, right), 31));
        value = vaddq_n_s32(vrshlq_s32(value, right), p->output_offset);
        value = vmaxq_s32(value, vdupq_n_s32(p->range.low));
        value = vminq_s32(value, vdupq_n_s32(p->range.high));
        vstrbq_p_s32(values + i, value, rest);
    }
}
#else
static void store_8(const struct weighted *p, const int32_t *sums, int32_t first, int32_t count,
                    int8_t *values)
{
    for (int32_t i = 0; i < count; i++) {
        values[i] = (int8_t)finish(p, sums[i], first + i);
    }
}
#endif

void weighted_store(const struct weighted_call *p, const union sums *sums, int32_t first,
                    int32_t count, int32_t at)
{
    if (!p->wide) {
        store_8(&p->weighted, sums->narrow, first, count, (int8_t *)p->output + at);
        return;
    }
    for (int32_t i = 0; i < count; i++) {
        ((int16_t *)p->output)[at + i] = (int16_t)finish(&p->weighted, sums->wide[i], first + i);
    }
}
