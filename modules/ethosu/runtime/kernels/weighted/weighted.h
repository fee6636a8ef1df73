// SPDX-License-Identifier: MIT
/**
 * Shared by CONV_2D, DEPTHWISE_CONV_2D, TRANSPOSE_CONV and FULLY_CONNECTED: sums
 * of products, bias, per-channel scales, and windows that slide over an image.
 */
#ifndef WEIGHTED_H
#define WEIGHTED_H

#include "runtime/kernels/weighted/dot.h"
#include "runtime/kernels/shared/quantization.h"

/** Width of the sums, and how they are rescaled. */
enum sum_mode {
    SUM_8,     /**< int8 input: 32-bit sums, rounded twice */
    SUM_16,    /**< int16 input: 64-bit sums, 16-bit multipliers */
    SUM_16_32, /**< int16 input, declared to need only 32-bit sums: as SUM_8 */
};

/** Conversion of an output channel's sum to its value. */
struct weighted {
    const void *bias;           /**< int32, or int64 if bias_64; may be NULL */
    const int32_t *multipliers; /**< of struct rescale */
    const int32_t *shifts;
    bool per_channel; /**< one scale per channel, else one in total */
    bool bias_64;
    bool narrow;  /**< int16 with biases and scales that give 31-bit values for 31-bit sums */
    uint8_t mode; /**< enum sum_mode */
    int32_t input_offset;
    int32_t output_offset;
    struct range range;
};

/** Positions of an operator's inputs and options. */
struct weighted_fields {
    uint8_t bias_input;
    uint8_t channel_axis;  /**< of the filter */
    uint8_t activation;    /**< field of the options */
    uint8_t bias_type;     /**< field with the declared type of the sums, or NO_BIAS_TYPE */
    bool scale_each;       /**< store one scale per channel even if all are equal */
    bool single_precision; /**< multiply the scales of input and filter so, if there is one of each
                            */
};

enum { NO_BIAS_TYPE = UINT8_MAX };

/** Check input, filter, bias and output, and compute the scales. */
int weighted_prepare(struct builder *builder, const struct tflite_operator_call *call,
                     const struct kernel_tensor *input, const struct kernel_tensor *filter,
                     const struct kernel_tensor *output, const struct weighted_fields *fields,
                     struct weighted *weighted);

/** A window that slides over an image in one direction. */
struct window {
    int32_t input;  /**< size of the image */
    int32_t output; /**< positions of the window in the image */
    int32_t size;   /**< of the window */
    int32_t stride;
    int32_t dilation;
    int32_t pad; /**< elements before the image that the first position covers */
};

/** Two of them: height and width. */
struct window_2d {
    struct window y;
    struct window x;
};

enum { PADDING_SAME = 0, PADDING_VALID = 1 };

/** Option fields of a window; dilations are absent when 0. */
struct window_fields {
    uint8_t padding, stride_w, stride_h, dilation_w, dilation_h;
};

/** Compute output size and padding; rejects strides, dilations and sizes that are not positive. */
int window_prepare(struct builder *builder, uint32_t padding, struct window *window);

/** Both windows over an NHWC image, from the operator's options. */
int window_2d_prepare(struct builder *builder, const struct tflite_operator_call *call,
                      const struct window_fields *fields, const struct kernel_tensor *image,
                      int32_t height, int32_t width, struct window_2d *window);

/** A prepared operator with weights. TRANSPOSE_CONV's windows slide over its output. */
struct weighted_call {
    struct kernel_call call;
    struct weighted weighted;
    struct window_2d window; /**< not used by FULLY_CONNECTED */
    const void *input;
    const int8_t *filter;
    void *output;
    int32_t batches;       /**< images, or rows of FULLY_CONNECTED */
    int32_t depth;         /**< channels of the input */
    int32_t filter_depth;  /**< channels of a filter: fewer than depth with groups */
    int32_t filters;       /**< channels of the output */
    int32_t filter_offset; /**< minus the weights' zero point */
    bool wide;             /**< int16, else int8 */
};

/** Option fields and shape check of an operator whose window slides over its input. */
struct weighted_image {
    struct weighted_fields weighted;
    struct window_fields window;
    /** Do the channels of input, filter and output match? */
    bool (*channels_fit)(const struct kernel_tensor *input, const struct kernel_tensor *filter,
                         const struct kernel_tensor *output);
};

/** Check such an operator and fill in its call. */
int weighted_image_prepare(struct builder *builder, const struct tflite_operator_call *call,
                           const struct weighted_image *image, struct weighted_call *p);

/** Channels whose sums are computed together. */
enum { SUM_BLOCK = 16 };

/** Sums of some of an output's channels, without biases. */
union sums {
    int32_t narrow[SUM_BLOCK]; /**< of int8 */
    int64_t wide[SUM_BLOCK];   /**< of int16 */
};

/** Rescale the sums of `count` channels, starting at `first`, and store them at output `at`. */
void weighted_store(const struct weighted_call *p, const union sums *sums, int32_t first,
                    int32_t count, int32_t at);

/** Maximum number of products summed without a poll. */
enum { DOT_BLOCK = 1 << 14 };

/** dot_8() and dot_16() for more products, in parts. */
int64_t long_dot_8(const struct kernel_call *call, const int8_t *values, const int8_t *weights,
                   int32_t count, int32_t value_offset);
int64_t long_dot_16(const struct kernel_call *call, const int16_t *values, const int8_t *weights,
                    int32_t count);

/** dot_8() and dot_16() for any number of products. */
static inline int64_t any_dot_8(const struct kernel_call *call, const int8_t *values,
                                const int8_t *weights, int32_t count, int32_t value_offset)
{
    return count > DOT_BLOCK ? long_dot_8(call, values, weights, count, value_offset)
                             : dot_8(values, weights, count, value_offset);
}

static inline int64_t any_dot_16(const struct kernel_call *call, const int16_t *values,
                                 const int8_t *weights, int32_t count)
{
    return count > DOT_BLOCK ? long_dot_16(call, values, weights, count)
                             : dot_16(values, weights, count);
}

/** Compute one sum of the block from the products of two rows. */
static inline void weighted_dot(const struct weighted_call *p, union sums *sums, int32_t index,
                                const void *row, const int8_t *weights, int32_t count)
{
    if (p->wide) {
        sums->wide[index] = any_dot_16(&p->call, row, weights, count);
    } else {
        sums->narrow[index] =
            (int32_t)any_dot_8(&p->call, row, weights, count, p->weighted.input_offset);
    }
}

/** Number of sums per block, with `products` products each. */
static inline int32_t weighted_block(int32_t products)
{
    return products > DOT_BLOCK / SUM_BLOCK * 4 ? 1 : SUM_BLOCK;
}

/** Count `sums` sums of products; must the kernel stop? A sum costs more than its products. */
static inline bool weighted_stops(const struct weighted_call *p, int32_t sums, int32_t products)
{
    return kernel_stops(&p->call, sums * (fixed_min(products, DOT_BLOCK) / 4 + 1));
}

/** The first position in the image that the window covers, for an output position. */
static inline int32_t window_origin(const struct window *window, int32_t position)
{
    return position * window->stride - window->pad;
}

#endif
