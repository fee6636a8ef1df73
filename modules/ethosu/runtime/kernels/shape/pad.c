// SPDX-License-Identifier: MIT
/** PAD and PADV2: fill the output, then copy the input into it. */
#include "runtime/kernels/shape/copy.h"

static int add_pad(struct builder *builder, const struct tflite_operator_call *call,
                   const struct kernel *kernel, struct copy *p)
{
    struct kernel_tensor in;
    struct kernel_tensor out;
    struct integers pads;
    TRY(find_pair(builder, call, &in, &out));
    TRY(integers_read(builder, call, 1, 2 * in.rank, &pads));
    int32_t from[ETHOSU_MODEL_MAX_RANK];
    int32_t to[ETHOSU_MODEL_MAX_RANK];
    int32_t first = 0;
    nd_dense(&in, from);
    nd_dense(&out, to);
    p->walk.rank = in.rank;
    for (uint32_t i = 0; i < in.rank; i++) {
        int64_t padded = (int64_t)pads.value[2 * i] + in.shape[i] + pads.value[2 * i + 1];
        if (pads.value[2 * i] < 0 || pads.value[2 * i + 1] < 0 || out.rank != in.rank ||
            padded != out.shape[i]) {
            return kernel_bad(builder, "paddings do not match the shapes");
        }
        first += pads.value[2 * i] * to[i];
        p->walk.dimension[in.rank - 1 - i] =
            (struct nd_dimension){.extent = in.shape[i], .stride = {to[i], from[i]}};
    }
    if (out.count != in.count) {
        p->fill = out.data;
        p->fill_count = out.count;
    }
    bool zero_pads = out.channels != 0 && out.element_size <= 2;
    int32_t value = zero_pads ? out.zero_point : 0;
    memcpy(p->pattern, &value, sizeof value);
    return add_copy(builder, kernel, p, &out, first, &in, 0);
}

static int prepare_pad(struct builder *builder, const struct tflite_operator_call *call,
                       const struct kernel *kernel)
{
    struct copy p = {0};
    return add_pad(builder, call, kernel, &p);
}

static int prepare_padv2(struct builder *builder, const struct tflite_operator_call *call,
                         const struct kernel *kernel)
{
    struct copy p = {0};
    struct kernel_tensor in;
    struct kernel_tensor value;
    TRY(kernel_input(builder, call, 0, &in));
    TRY(kernel_input(builder, call, 2, &value));
    if (value.count != 1 || value.type != in.type) {
        return kernel_bad(builder, "padding value is not one element of the input's type");
    }
    p.value = value.data;
    return add_pad(builder, call, kernel, &p);
}

DEFINE_KERNEL(PAD, .prepare = prepare_pad, .run = run_copy);
DEFINE_KERNEL(PADV2, .prepare = prepare_padv2, .run = run_copy);
