// SPDX-License-Identifier: MIT
/** Walks over several tensors at once; see nd.h. */
#include "runtime/build/nd.h"

void nd_dense(const struct kernel_tensor *tensor, int32_t *stride)
{
    int32_t step = 1;
    for (uint32_t i = tensor->rank; i-- > 0;) {
        stride[i] = step;
        step *= tensor->shape[i];
    }
}

/** Does `outer` continue where `inner` ends, in each tensor? */
static bool continues(const struct nd_dimension *inner, const struct nd_dimension *outer)
{
    for (uint32_t i = 0; i < ND_TENSORS; i++) {
        if (outer->stride[i] != inner->stride[i] * inner->extent) {
            return false;
        }
    }
    return true;
}

void nd_simplify(struct nd_walk *walk)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < walk->rank; i++) {
        struct nd_dimension *dimension = &walk->dimension[i];
        if (dimension->extent == 1) {
            continue;
        }
        if (kept > 0 && continues(&walk->dimension[kept - 1], dimension)) {
            walk->dimension[kept - 1].extent *= dimension->extent;
        } else {
            walk->dimension[kept++] = *dimension;
        }
    }
    if (kept == 0) {
        walk->dimension[kept++] = (struct nd_dimension){.extent = 1};
    }
    walk->rank = kept;
}

bool nd_next(const struct nd_walk *walk, struct nd_cursor *cursor)
{
    for (uint32_t i = 1; i < walk->rank; i++) {
        const struct nd_dimension *dimension = &walk->dimension[i];
        bool wraps = ++cursor->index[i] == dimension->extent;
        int32_t steps = wraps ? 1 - dimension->extent : 1;
        for (uint32_t k = 0; k < ND_TENSORS; k++) {
            cursor->offset[k] += steps * dimension->stride[k];
        }
        if (!wraps) {
            return true;
        }
        cursor->index[i] = 0;
    }
    return false;
}

bool nd_broadcast(struct nd_walk *walk, const struct kernel_tensor *output,
                  const struct kernel_tensor *inputs, uint32_t count)
{
    int32_t stride[ETHOSU_MODEL_MAX_RANK];
    *walk = (struct nd_walk){.rank = output->rank};
    nd_dense(output, stride);
    for (uint32_t i = 0; i < output->rank; i++) {
        struct nd_dimension *dimension = &walk->dimension[output->rank - 1 - i];
        dimension->extent = output->shape[i];
        dimension->stride[0] = stride[i];
    }
    for (uint32_t k = 0; k < count; k++) {
        const struct kernel_tensor *input = &inputs[k];
        if (input->rank > output->rank) {
            return false;
        }
        nd_dense(input, stride);
        for (uint32_t i = 0; i < input->rank; i++) {
            struct nd_dimension *dimension = &walk->dimension[input->rank - 1 - i];
            if (input->shape[i] != 1 && input->shape[i] != dimension->extent) {
                return false;
            }
            dimension->stride[k + 1] = input->shape[i] == 1 ? 0 : stride[i];
        }
    }
    nd_simplify(walk);
    return true;
}
