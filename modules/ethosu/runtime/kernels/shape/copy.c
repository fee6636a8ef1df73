// SPDX-License-Identifier: MIT
/** Strided copies; see copy.h. */
#include "runtime/kernels/shape/copy.h"

#include "runtime/kernels/shared/element.h"

#include <string.h>

/** Copy elements along a walk from tensor 1 to tensor 0. */
static void copy_walk(const struct kernel_call *call, const struct nd_walk *walk, void *destination,
                      const void *source, uint32_t element_size)
{
    const struct nd_dimension *row = &walk->dimension[0];
    struct nd_cursor cursor = {0};
    bool whole = row->stride[0] == 1 && row->stride[1] == 1;
    uint8_t *to = destination;
    const uint8_t *from = source;
    ptrdiff_t size = (ptrdiff_t)element_size;
    do {
        uint8_t *out = to + cursor.offset[0] * size;
        const uint8_t *in = from + cursor.offset[1] * size;
        if (whole) {
            kernel_copy(call, out, in, (size_t)row->extent * element_size);
            continue;
        }
        KERNEL_BLOCKS(call, first, end, row->extent)
        {
            for (int32_t i = first; i < end; i++) {
                memcpy(out + i * row->stride[0] * size, in + i * row->stride[1] * size,
                       element_size);
            }
        }
    } while (!kernel_is_stopped(call) && nd_next(walk, &cursor));
}

int run_copy(const struct kernel_call *call)
{
    const struct copy *p = (const struct copy *)call;
    const void *value = p->value == NULL ? p->pattern : p->value;
    if (p->fill != NULL && p->element_size == 1) {
        kernel_fill(call, p->fill, *(const uint8_t *)value, (size_t)p->fill_count);
    } else if (p->fill != NULL) {
        KERNEL_BLOCKS(call, first, end, p->fill_count)
        {
            for (int32_t i = first; i < end; i++) {
                memcpy(element_at(p->fill, i, p->element_size), value, p->element_size);
            }
        }
    }
    copy_walk(call, &p->walk, p->output, p->input, p->element_size);
    return ETHOSU_MODEL_OK;
}

int add_copy(struct builder *builder, const struct kernel *kernel, struct copy *p,
             const struct kernel_tensor *output, int32_t to, const struct kernel_tensor *input,
             int32_t from)
{
    p->element_size = output->element_size;
    p->output = builder->loading ? element_at(output->data, to, p->element_size) : NULL;
    p->input = builder->loading ? element_at(input->data, from, p->element_size) : NULL;
    nd_simplify(&p->walk);
    return kernel_add(builder, kernel, &p->call, nd_block_size(p, &p->walk));
}

int find_pair(struct builder *builder, const struct tflite_operator_call *call,
              struct kernel_tensor *input, struct kernel_tensor *output)
{
    TRY(kernel_tensors(builder, call, input, 1, output, 1));
    return input->type == output->type ? ETHOSU_MODEL_OK
                                       : kernel_bad(builder, "input and output differ in type");
}

int find_axis(struct builder *builder, int32_t axis, const struct kernel_tensor *tensor,
              uint32_t *index)
{
    int32_t rank = (int32_t)tensor->rank;
    *index = (uint32_t)(axis < 0 ? axis + rank : axis);
    return *index < tensor->rank ? ETHOSU_MODEL_OK : kernel_bad(builder, "axis is out of range");
}
