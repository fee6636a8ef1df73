// SPDX-License-Identifier: MIT
/** CONCATENATION, SPLIT and SPLIT_V: a whole tensor and its parts along an axis. */
#include "runtime/kernels/shape/copy.h"

/** Fields of the options. */
enum { CONCATENATION_AXIS = 0, CONCATENATION_ACTIVATION = 1 };

/** Do part and whole have the same shape except along the axis? */
static bool fits_whole(const struct kernel_tensor *whole, const struct kernel_tensor *part,
                       uint32_t axis)
{
    bool fits = part->rank == whole->rank && part->type == whole->type;
    for (uint32_t i = 0; i < whole->rank && fits; i++) {
        fits = i == axis || part->shape[i] == whole->shape[i];
    }
    return fits;
}

/** Walk over a part of the whole: tensor number `in_whole` is the whole, the other the part. */
static struct nd_walk part_walk(const struct kernel_tensor *whole, const struct kernel_tensor *part,
                                uint32_t axis, uint32_t in_whole)
{
    int32_t before = 1;
    int32_t after = 1;
    for (uint32_t i = 0; i < whole->rank; i++) {
        if (i != axis) {
            *(i < axis ? &before : &after) *= whole->shape[i];
        }
    }
    struct nd_walk walk = {.rank = 2};
    int32_t run = part->shape[axis] * after;
    walk.dimension[0] = (struct nd_dimension){.extent = run, .stride = {1, 1}};
    walk.dimension[1].extent = before;
    walk.dimension[1].stride[in_whole] = whole->shape[axis] * after;
    walk.dimension[1].stride[1 - in_whole] = run;
    return walk;
}

/** Add the copy of a part; `in_whole` is the whole's number in the walk: output 0 or input 1. */
static int add_part(struct builder *builder, const struct kernel *kernel,
                    const struct kernel_tensor *whole, const struct kernel_tensor *part,
                    uint32_t axis, int32_t position, uint32_t in_whole)
{
    struct copy p = {.walk = part_walk(whole, part, axis, in_whole)};
    int32_t first = position * (p.walk.dimension[0].extent / part->shape[axis]);
    return in_whole == 0 ? add_copy(builder, kernel, &p, whole, first, part, 0)
                         : add_copy(builder, kernel, &p, part, 0, whole, first);
}

static int prepare_concatenation(struct builder *builder, const struct tflite_operator_call *call,
                                 const struct kernel *kernel)
{
    struct kernel_tensor out;
    uint32_t axis;
    TRY(kernel_output(builder, call, 0, &out));
    TRY(find_axis(builder, kernel_option(builder, call, CONCATENATION_AXIS, 0), &out, &axis));
    if (kernel_option_byte(builder, call, CONCATENATION_ACTIVATION, 0) != 0) {
        return kernel_unsupported(builder, "fused activation is not supported");
    }
    int32_t position = 0;
    for (uint32_t i = 0; i < call->inputs.count; i++) {
        struct kernel_tensor in;
        TRY(kernel_input(builder, call, i, &in));
        if (!fits_whole(&out, &in, axis) || in.shape[axis] > out.shape[axis] - position) {
            return kernel_bad(builder, "an input does not match the output");
        }
        if (out.element_size == 1 && (in.scale != out.scale || in.zero_point != out.zero_point)) {
            return kernel_unsupported(builder, "input and output differ in quantisation");
        }
        TRY(add_part(builder, kernel, &out, &in, axis, position, 0));
        position += in.shape[axis];
    }
    return position == out.shape[axis]
               ? ETHOSU_MODEL_OK
               : kernel_bad(builder, "total size of the inputs differs from the output's");
}

DEFINE_KERNEL(CONCATENATION, .prepare = prepare_concatenation, .run = run_copy);

/** Input numbers of an operator that splits. */
struct split_inputs {
    uint32_t whole, axis;
};

static int prepare_split(struct builder *builder, const struct tflite_operator_call *call,
                         const struct kernel *kernel)
{
    const struct split_inputs *inputs = kernel->variant;
    struct kernel_tensor in;
    struct integers axes;
    uint32_t axis;
    TRY(kernel_input(builder, call, inputs->whole, &in));
    TRY(integers_read(builder, call, inputs->axis, 1, &axes));
    TRY(find_axis(builder, axes.value[0], &in, &axis));
    int32_t position = 0;
    for (uint32_t i = 0; i < call->outputs.count; i++) {
        struct kernel_tensor out;
        TRY(kernel_output(builder, call, i, &out));
        if (!fits_whole(&in, &out, axis) || out.shape[axis] > in.shape[axis] - position) {
            return kernel_bad(builder, "an output does not match the input");
        }
        TRY(add_part(builder, kernel, &in, &out, axis, position, 1));
        position += out.shape[axis];
    }
    return ETHOSU_MODEL_OK;
}

DEFINE_KERNEL(SPLIT, .prepare = prepare_split, .run = run_copy,
              .variant = &(const struct split_inputs){.whole = 1, .axis = 0});
DEFINE_KERNEL(SPLIT_V, .prepare = prepare_split, .run = run_copy,
              .variant = &(const struct split_inputs){.whole = 0, .axis = 2});
