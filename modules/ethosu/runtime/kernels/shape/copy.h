// SPDX-License-Identifier: MIT
/** Strided copies, for operators that move elements without changing them. */
#ifndef COPY_H
#define COPY_H

#include "runtime/kernels/shared/integers.h"
#include "runtime/build/nd.h"

/** Fill a tensor if needed, then copy into it. */
struct copy {
    struct kernel_call call;
    void *output;
    const void *input;
    uint32_t element_size;
    void *fill;        /**< or NULL */
    const void *value; /**< to fill with, or NULL to use `pattern` */
    int32_t fill_count;
    uint8_t pattern[8];
    struct nd_walk walk;
};

int run_copy(const struct kernel_call *call);

/** Add a copy; `to` and `from` are the first elements written and read. */
int add_copy(struct builder *builder, const struct kernel *kernel, struct copy *p,
             const struct kernel_tensor *output, int32_t to, const struct kernel_tensor *input,
             int32_t from);

/** Find input 0 and output 0, which must have the same type. */
int find_pair(struct builder *builder, const struct tflite_operator_call *call,
              struct kernel_tensor *input, struct kernel_tensor *output);

/** Find the dimension of an axis; negative axes count from the last. */
int find_axis(struct builder *builder, int32_t axis, const struct kernel_tensor *tensor,
              uint32_t *index);

#endif
