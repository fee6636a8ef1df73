// SPDX-License-Identifier: MIT
/** Preparing the operators with weights; see weighted.h. */
#include "weighted.h"

#include <math.h>
#include <string.h>

static int check_types(struct builder *builder, const struct kernel_tensor *input,
                       const struct kernel_tensor *filter, const struct kernel_tensor *output)
{
    int status = need_quantized(builder, input);
    if (status == ETHOSU_MODEL_OK) {
        status = need_quantized(builder, output);
    }
    if (status == ETHOSU_MODEL_OK &&
        (input->type == ETHOSU_TYPE_UINT8 || input->type != output->type)) {
        status = kernel_bad_type(builder, input);
    }
    if (status == ETHOSU_MODEL_OK) {
        status = need_quantized(builder, filter);
    }
    if (status == ETHOSU_MODEL_OK && filter->type != ETHOSU_TYPE_INT8) {
        status = kernel_bad_type(builder, filter);
    }
    return status;
}

static int find_bias(struct builder *builder, const struct tflite_operator_call *call,
                     uint32_t input, int32_t channels, struct weighted *weighted)
{
    struct kernel_tensor bias;
    weighted->narrow = true;
    if (!kernel_has_input(builder, call, input)) {
        return ETHOSU_MODEL_OK;
    }
    int status = kernel_input(builder, call, input, &bias);
    if (status != ETHOSU_MODEL_OK) {
        return status;
    }
    weighted->bias_64 = bias.type == ETHOSU_TYPE_INT64;
    bool wide = weighted->mode == SUM_16;
    if ((wide ? !weighted->bias_64 : bias.type != ETHOSU_TYPE_INT32)) {
        return kernel_bad_type(builder, &bias);
    }
    if (bias.count != channels) {
        return kernel_bad(builder, "its bias does not have one value for each channel");
    }
    weighted->bias = bias.data;
    weighted->narrow = bias.constant;
    for (int32_t i = 0; i < channels && weighted->narrow && weighted->bias_64; ++i) {
        int64_t value; // while measuring they may lie at any address
        memcpy(&value, (const uint8_t *)bias.data + (size_t)i * sizeof value, sizeof value);
        weighted->narrow = value >= INT32_MIN && value <= INT32_MAX;
    }
    return ETHOSU_MODEL_OK;
}

static int find_scales(struct builder *builder, const struct kernel_tensor *input,
                       const struct kernel_tensor *filter, const struct kernel_tensor *output,
                       int32_t channels, bool scale_each, struct weighted *weighted)
{
    weighted->per_channel = filter->channels > 1 || scale_each;
    uint32_t count = weighted->per_channel ? (uint32_t)channels : 1;
    if (filter->channels != 1 && filter->channels != count) {
        return kernel_bad(builder, "its weights have neither one scale nor one for each channel");
    }
    void *memory;
    int status = kernel_table(builder, 2 * (size_t)count, sizeof(int32_t), &memory);
    int32_t *table = memory;
    weighted->multipliers = table;
    weighted->shifts = table == NULL ? NULL : table + count;
    for (uint32_t i = 0; i < count && status == ETHOSU_MODEL_OK; ++i) {
        float scale;
        int32_t zero_point;
        struct rescale rescale;
        uint32_t channel = filter->channels > 1 ? i : 0;
        tflite_get_channel(&builder->file, &filter->file, channel, &scale, &zero_point);
        double factor = (double)input->scale * (double)scale / (double)output->scale;
        status = need_rescale(builder, factor, &rescale);
        // The 64-bit form shifts by 15 bits less the factor's own.
        if (status == ETHOSU_MODEL_OK && weighted->mode == SUM_16 && rescale.shift > 7) {
            status = kernel_bad(builder, "its scales give a factor out of all bounds");
        }
        weighted->narrow = weighted->narrow && rescale.shift <= -2;
        if (table != NULL) {
            table[i] = rescale.multiplier;
            table[count + i] = rescale.shift;
        }
    }
    return status;
}

int weighted_prepare(struct builder *builder, const struct tflite_operator_call *call,
                     const struct kernel_tensor *input, const struct kernel_tensor *filter,
                     const struct kernel_tensor *output, const struct weighted_fields *fields,
                     struct weighted *weighted)
{
    int status = check_types(builder, input, filter, output);
    int32_t channels = filter->shape[fields->channel_axis];
    uint8_t bias_type = fields->bias_type == NO_BIAS_TYPE
                            ? 0
                            : kernel_option_byte(builder, call, fields->bias_type, 0);
    weighted->mode = input->type == ETHOSU_TYPE_INT8  ? SUM_8
                     : bias_type == ETHOSU_TYPE_INT32 ? SUM_16_32
                                                      : SUM_16;
    if (status == ETHOSU_MODEL_OK) {
        status = find_bias(builder, call, fields->bias_input, channels, weighted);
    }
    if (status == ETHOSU_MODEL_OK) {
        status =
            find_scales(builder, input, filter, output, channels, fields->scale_each, weighted);
    }
    if (status == ETHOSU_MODEL_OK) {
        status =
            range_of_activation(builder, kernel_option_byte(builder, call, fields->activation, 0),
                                output, &weighted->range);
    }
    if (status == ETHOSU_MODEL_OK) {
        weighted->input_offset = -input->zero_point;
        weighted->output_offset = output->zero_point;
    }
    return status;
}

int window_prepare(struct builder *builder, uint32_t padding, struct window *window)
{
    const int64_t most = 1 << 20;
    if (window->size <= 0 || window->stride <= 0 || window->dilation <= 0 || window->size > most ||
        window->stride > most || window->dilation > most || padding > PADDING_VALID) {
        return kernel_bad(builder, "its kernel, strides, dilations or padding make no sense");
    }
    int64_t covered = (int64_t)(window->size - 1) * window->dilation + 1;
    int64_t room = window->input + (int64_t)window->stride;
    int64_t output = (padding == PADDING_SAME ? room - 1 : room - covered) / window->stride;
    int64_t padded = (output - 1) * window->stride + covered - window->input;
    if (output <= 0 || output > INT32_MAX || padded > INT32_MAX) {
        return kernel_bad(builder, "its kernel is larger than its input");
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
    int status = window_prepare(builder, padding, &window->y);
    return status == ETHOSU_MODEL_OK ? window_prepare(builder, padding, &window->x) : status;
}
