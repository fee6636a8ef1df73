// SPDX-License-Identifier: MIT
/** Converts scales and zero points to the constants of integer arithmetic. */
#ifndef QUANTIZATION_H
#define QUANTIZATION_H

#include "runtime/kernels/shared/fixed.h"
#include "runtime/kernels/shared/kernel.h"

/** Fused activations, numbered as in the schema. */
enum activation {
    ACTIVATION_NONE = 0,
    ACTIVATION_RELU = 1,
    ACTIVATION_RELU_N1_TO_1 = 2,
    ACTIVATION_RELU6 = 3,
};

/** Smallest and largest value of an output. */
struct range {
    int32_t low;
    int32_t high;
};

/** Fixed-point form of a real factor; false if it is not finite, negative, or too large. */
bool rescale_from(double factor, struct rescale *rescale);

/** Range of int8, int16, …; false for other types. */
bool range_of_type(uint32_t type, struct range *range);

/** Range of a quantised output with a fused activation; rejects other types and activations. */
int range_of_activation(struct builder *builder, uint32_t activation,
                        const struct kernel_tensor *output, struct range *range);

/** A real bound as a quantised value, clamped to a range. */
int32_t quantize_bound(float bound, const struct kernel_tensor *output, struct range range);

/** Range of a float output with a fused activation. */
int range_of_floats(struct builder *builder, uint32_t activation, float *low, float *high);

/** Reject unless the tensor has one positive, finite scale, and zero point 0 for int16. */
int need_quantized(struct builder *builder, const struct kernel_tensor *tensor);

/** Fixed-point form of a real factor; rejects the operator if rescale_from() fails. */
int need_rescale(struct builder *builder, double factor, struct rescale *rescale);

#endif
