// SPDX-License-Identifier: MIT
/** GATHER: slices at positions from a tensor. */
#include "runtime/kernels/shape/copy.h"
#include "runtime/kernels/shared/element.h"

/** Fields of the options. */
enum { GATHER_AXIS = 0, GATHER_BATCH_DIMS = 1 };

struct gather {
    struct kernel_call call;
    const uint8_t *input;
    const void *indices;
    uint8_t *output;
    uint32_t index_type;
    int32_t batches; /**< leading dimensions that input and indices share */
    int32_t outer;   /**< dimensions between them and the axis */
    int32_t size;    /**< of the axis */
    int32_t count;   /**< indices per batch */
    size_t run;      /**< bytes of the dimensions after the axis */
};

static int run_gather(const struct kernel_call *call)
{
    const struct gather *p = (const struct gather *)call;
    uint8_t *output = p->output;
    for (int32_t batch = 0; batch < p->batches; batch++) {
        for (int32_t outer = 0; outer < p->outer; outer++) {
            const uint8_t *rows =
                p->input + (size_t)(batch * p->outer + outer) * (size_t)p->size * p->run;
            for (int32_t i = 0; i < p->count; i++) {
                int64_t index = integer_at(p->indices, p->index_type, batch * p->count + i);
                if (index < 0 || index >= p->size) {
                    return ETHOSU_MODEL_BAD_VALUE;
                }
                if (!kernel_copy(call, output, rows + (size_t)index * p->run, p->run)) {
                    return ETHOSU_MODEL_STOPPED;
                }
                output += p->run;
            }
        }
    }
    return ETHOSU_MODEL_OK;
}

static int32_t product(const struct kernel_tensor *tensor, uint32_t first, uint32_t end)
{
    int32_t result = 1;
    for (uint32_t i = first; i < end; i++) {
        result *= tensor->shape[i];
    }
    return result;
}

static int prepare_gather(struct builder *builder, const struct tflite_operator_call *call,
                          const struct kernel *kernel)
{
    struct kernel_tensor in[2];
    struct kernel_tensor out;
    uint32_t axis;
    TRY(kernel_tensors(builder, call, in, 2, &out, 1));
    TRY(find_axis(builder, kernel_option(builder, call, GATHER_AXIS, 0), &in[0], &axis));
    int32_t batch_dims = kernel_option(builder, call, GATHER_BATCH_DIMS, 0);
    uint32_t batched = (uint32_t)(batch_dims < 0 ? batch_dims + (int32_t)in[1].rank : batch_dims);
    if (batched > axis || batched > in[1].rank ||
        memcmp(in[0].shape, in[1].shape, batched * sizeof in[0].shape[0]) != 0) {
        return kernel_bad(builder, "batch dimensions do not match the shapes");
    }
    if (!integer_type(in[1].type) || in[0].type != out.type) {
        return kernel_bad_type(builder);
    }
    struct gather p = {
        .input = in[0].data,
        .indices = in[1].data,
        .output = out.data,
        .index_type = in[1].type,
        .batches = product(&in[0], 0, batched),
        .outer = product(&in[0], batched, axis),
        .size = in[0].shape[axis],
        .count = product(&in[1], batched, in[1].rank),
        .run = (size_t)product(&in[0], axis + 1, in[0].rank) * in[0].element_size,
    };
    uint64_t bytes = (uint64_t)p.run * (uint32_t)p.batches * (uint32_t)p.outer;
    if (bytes * (uint32_t)p.count != out.file.size) {
        return kernel_bad(builder, "output has the wrong number of elements");
    }
    return kernel_add(builder, kernel, &p.call, sizeof p);
}

DEFINE_KERNEL(GATHER, .prepare = prepare_gather, .run = run_gather);
