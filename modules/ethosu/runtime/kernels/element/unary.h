// SPDX-License-Identifier: MIT
/** Elementwise operators of one tensor; see unary.c. */
#ifndef UNARY_H
#define UNARY_H

#include "runtime/kernels/shared/quantization.h"

struct unary {
    struct kernel_call call;
    /** The operator: from a quantised value to a quantised value. */
    int32_t (*function)(const struct unary *p, int32_t value);
    const void *input;
    void *output;
    int32_t count;
    uint8_t input_type;
    uint8_t output_type;
    bool table; /**< a table of all values follows */
    int32_t input_zero_point;
    int32_t output_zero_point;
    struct range range;      /**< of the output */
    struct rescale scale[2]; /**< for the function */
    float input_scale;
    float output_scale;
};

/** An 8-bit operator, with the table after the block. */
struct unary_block {
    struct unary unary;
    uint8_t table[256]; /**< by the input's bits */
};

/** Find the tensors; the caller checks their types. */
int unary_begin(struct builder *builder, const struct tflite_operator_call *call,
                struct kernel_tensor *input, struct kernel_tensor *output, struct unary *p);

/** The same for quantised tensors of one type. */
int unary_begin_quantized(struct builder *builder, const struct tflite_operator_call *call,
                          struct kernel_tensor *input, struct kernel_tensor *output,
                          struct unary *p);

/** Compute the table for 8-bit inputs, and add the step. */
int unary_finish(struct builder *builder, const struct kernel *kernel, struct unary *p);

int unary_run(const struct kernel_call *call);

#endif
