// SPDX-License-Identifier: MIT
/** The block of elementwise operators of two tensors: ADD, MUL, MAXIMUM and others. */
#ifndef BINARY_H
#define BINARY_H

#include "runtime/build/nd.h"
#include "runtime/kernels/shared/quantization.h"

struct binary;

/** Computes a part of a row: `a` and `b` advance by their strides. */
typedef void binary_row(const struct binary *p, void *out, const void *a, const void *b,
                        int32_t count);

struct binary {
    struct kernel_call call;
    binary_row *row;
    void *output;
    const void *input[2];
    uint32_t element_size;
    int32_t offset[2]; /**< added to the inputs */
    int32_t output_offset;
    int32_t left_shift;
    struct rescale scale[2];
    struct rescale output_scale;
    struct range range;
    float low, high;
    bool subtract;
    struct nd_walk walk; /**< last member: only the dimensions in use are stored */
};

/** An operator's functions per type, or NULL. A kernel's variant begins with them. */
struct binary_rows {
    binary_row *int8;
    binary_row *uint8;
    binary_row *int16;
    binary_row *int32;
    binary_row *real;
};

/** Left shift of both inputs of an int8 ADD before they are rescaled. */
#define BINARY_ADD_SHIFT 20

#endif
