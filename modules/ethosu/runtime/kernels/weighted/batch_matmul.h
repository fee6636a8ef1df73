// SPDX-License-Identifier: MIT
/** The block of BATCH_MATMUL. */
#ifndef BATCH_MATMUL_H
#define BATCH_MATMUL_H

#include "runtime/build/nd.h"
#include "runtime/kernels/shared/quantization.h"

/** One input: strides between its rows, and between the factors of a sum. */
struct matrix {
    const void *data;
    int32_t offset;
    int32_t row;
    int32_t step;
};

struct matmul {
    struct kernel_call call;
    struct matrix x;
    struct matrix y;
    void *output;
    int32_t rows;
    int32_t columns;
    int32_t depth;
    struct rescale scale;
    int32_t output_offset;
    struct range range;
    uint32_t type;
    struct nd_walk walk; /**< over the batches */
};

#endif
