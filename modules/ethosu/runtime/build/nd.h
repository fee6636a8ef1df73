// SPDX-License-Identifier: MIT
/**
 * Walks over several tensors at once, along up to 8 dimensions; each tensor has
 * its own strides. Used for broadcasting, slicing and transposing.
 *
 * A walk advances row by row; the caller loops over the innermost dimension.
 */
#ifndef ND_H
#define ND_H

#include "runtime/build/kernel_call.h"

/** Maximum number of tensors in a walk. */
#define ND_TENSORS 4u

/** One dimension: the number of elements, and their stride in each tensor. */
struct nd_dimension {
    int32_t extent;
    int32_t stride[ND_TENSORS]; /**< elements; 0: broadcast */
};

/** Dimensions from the innermost outwards. */
struct nd_walk {
    uint32_t rank; /**< at least 1 */
    struct nd_dimension dimension[ETHOSU_MODEL_MAX_RANK];
};

/** Position of a walk: all zeros at the start. */
struct nd_cursor {
    int32_t index[ETHOSU_MODEL_MAX_RANK];
    int32_t offset[ND_TENSORS]; /**< elements, of the row's start */
};

/** Strides of a dense tensor, in elements. */
void nd_dense(const struct kernel_tensor *tensor, int32_t *stride);

/** Drop dimensions of extent 1 and join those that are contiguous in all tensors. */
void nd_simplify(struct nd_walk *walk);

/** Go to the next row; false after the last. */
bool nd_next(const struct nd_walk *walk, struct nd_cursor *cursor);

/**
 * Set up a walk over `output`, tensor 0, with NumPy's broadcasting of the inputs.
 *
 * @return  false if a shape can't be broadcast
 */
bool nd_broadcast(struct nd_walk *walk, const struct kernel_tensor *output,
                  const struct kernel_tensor *inputs, uint32_t count);

/** Bytes of a kernel's block whose last member is this walk, without its unused dimensions. */
static inline size_t nd_block_size(const void *block, const struct nd_walk *walk)
{
    return (size_t)((const char *)&walk->dimension[walk->rank] - (const char *)block);
}

#endif
