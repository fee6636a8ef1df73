// SPDX-License-Identifier: MIT
/**
 * What CONV_2D, DEPTHWISE_CONV_2D, TRANSPOSE_CONV and FULLY_CONNECTED share:
 * sums of products, bias, per-channel scales, and windows that slide over an image.
 */
#ifndef WEIGHTED_H
#define WEIGHTED_H

#include "dot.h"
#include "quantization.h"

/** How sums are kept, and brought to the output's scale. */
enum sum_mode {
    SUM_8,     /**< int8 input: 32-bit sums, rounded twice */
    SUM_16,    /**< int16 input: 64-bit sums, 16-bit multipliers */
    SUM_16_32, /**< int16 input, declared to need 32-bit sums only: as SUM_8 */
};

/** From the sums of an output's channels to their values. */
struct weighted {
    const void *bias;           /**< int32, or int64 when bias_64; NULL: none */
    const int32_t *multipliers; /**< of struct rescale */
    const int32_t *shifts;
    bool per_channel; /**< a scale for each channel, else one */
    bool bias_64;
    bool narrow;  /**< int16 with biases and scales that lead 31-bit sums to 31-bit values */
    uint8_t mode; /**< enum sum_mode */
    int32_t input_offset;
    int32_t output_offset;
    struct range range;
};

/** Where an operator has what its sums need. */
struct weighted_fields {
    uint8_t bias_input;
    uint8_t channel_axis; /**< of the filter */
    uint8_t activation;   /**< field of the options */
    uint8_t bias_type;    /**< field with the declared type of the sums, or NO_BIAS_TYPE */
    bool scale_each;      /**< keep a scale for each channel even if they are all the same */
};

enum { NO_BIAS_TYPE = UINT8_MAX };

/** Check input, filter, bias and output, and compute the scales. */
int weighted_prepare(struct builder *builder, const struct tflite_operator_call *call,
                     const struct kernel_tensor *input, const struct kernel_tensor *filter,
                     const struct kernel_tensor *output, const struct weighted_fields *fields,
                     struct weighted *weighted);

/** The output value of a channel. */
static inline int32_t weighted_finish(const struct weighted *p, int64_t sum, int32_t channel)
{
    int32_t at = p->per_channel ? channel : 0;
    struct rescale scale = {p->multipliers[at], p->shifts[at]};
    if (p->bias != NULL) {
        sum +=
            p->bias_64 ? ((const int64_t *)p->bias)[channel] : ((const int32_t *)p->bias)[channel];
    }
    int32_t value =
        p->mode == SUM_16 ? fixed_rescale_64(sum, scale) : fixed_rescale((int32_t)sum, scale);
    return fixed_clamp((int32_t)((uint32_t)value + (uint32_t)p->output_offset), p->range.low,
                       p->range.high);
}

/** A window that slides over an image, in one direction. */
struct window {
    int32_t input;  /**< size of the image */
    int32_t output; /**< places that the window takes */
    int32_t size;   /**< of the window */
    int32_t stride;
    int32_t dilation;
    int32_t pad; /**< elements before the image's first that the window's first place covers */
};

/** Two of them: height and width. */
struct window_2d {
    struct window y;
    struct window x;
};

enum { PADDING_SAME = 0, PADDING_VALID = 1 };

/** Where an operator's options have what a window needs; dilations are absent when 0. */
struct window_fields {
    uint8_t padding, stride_w, stride_h, dilation_w, dilation_h;
};

/** Compute output size and padding; refuses strides, dilations and sizes that are not positive. */
int window_prepare(struct builder *builder, uint32_t padding, struct window *window);

/** Both windows over an NHWC image, from the operator's options. */
int window_2d_prepare(struct builder *builder, const struct tflite_operator_call *call,
                      const struct window_fields *fields, const struct kernel_tensor *image,
                      int32_t height, int32_t width, struct window_2d *window);

/** An operator with weights, as it runs. TRANSPOSE_CONV's windows slide over its output. */
struct weighted_call {
    struct kernel_call call;
    struct weighted weighted;
    struct window_2d window; /**< FULLY_CONNECTED has none */
    const void *input;
    const int8_t *filter;
    void *output;
    int32_t batches;       /**< images, or rows of FULLY_CONNECTED */
    int32_t depth;         /**< channels of the input */
    int32_t filter_depth;  /**< channels of a filter: fewer than depth when they are in groups */
    int32_t filters;       /**< channels of the output */
    int32_t filter_offset; /**< minus the weights' zero point */
    bool wide;             /**< int16, else int8 */
};

/** First place of the window in the image, at an output position. */
static inline int32_t window_origin(const struct window *window, int32_t position)
{
    return position * window->stride - window->pad;
}

#endif
