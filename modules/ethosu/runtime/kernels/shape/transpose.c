// SPDX-License-Identifier: MIT
/** TRANSPOSE. */
#include "runtime/kernels/shape/copy.h"

static int prepare_transpose(struct builder *builder, const struct tflite_operator_call *call,
                             const struct kernel *kernel)
{
    struct kernel_tensor in;
    struct kernel_tensor out;
    struct integers order;
    TRY(find_pair(builder, call, &in, &out));
    TRY(integers_read(builder, call, 1, in.rank, &order));
    int32_t from[ETHOSU_MODEL_MAX_RANK];
    int32_t to[ETHOSU_MODEL_MAX_RANK];
    struct copy p = {.walk.rank = in.rank};
    uint32_t seen = 0;
    nd_dense(&in, from);
    nd_dense(&out, to);
    for (uint32_t i = 0; i < in.rank; i++) {
        int32_t axis = order.value[i] < 0 ? order.value[i] + (int32_t)in.rank : order.value[i];
        if (axis < 0 || axis >= (int32_t)in.rank || out.rank != in.rank ||
            out.shape[i] != in.shape[axis]) {
            return kernel_bad(builder, "order of dimensions does not match the shapes");
        }
        seen |= 1u << axis;
        p.walk.dimension[in.rank - 1 - i] =
            (struct nd_dimension){.extent = out.shape[i], .stride = {to[i], from[axis]}};
    }
    if (seen != (1u << in.rank) - 1u) {
        return kernel_bad(builder, "order lists a dimension twice");
    }
    return add_copy(builder, kernel, &p, &out, 0, &in, 0);
}

DEFINE_KERNEL(TRANSPOSE, .prepare = prepare_transpose, .run = run_copy);
