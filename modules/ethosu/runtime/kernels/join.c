// SPDX-License-Identifier: MIT
/** CONCATENATION, SPLIT and SPLIT_V: a whole tensor and its parts along an axis. */
#include "copy.h"

/** Fields of the options. */
enum { CONCATENATION_AXIS = 0, CONCATENATION_ACTIVATION = 1 };

/** Products of the dimensions before an axis and after it. */
static void around_axis(const struct kernel_tensor *tensor, uint32_t axis, int32_t *before,
                        int32_t *after)
{
    *before = *after = 1;
    for (uint32_t i = 0; i < tensor->rank; i++) {
        if (i != axis) {
            *(i < axis ? before : after) *= tensor->shape[i];
        }
    }
}

/** Do part and whole have the same shape, except along the axis? */
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
    int32_t before;
    int32_t after;
    around_axis(whole, axis, &before, &after);
    struct nd_walk walk = {.rank = 2};
    int32_t run = part->shape[axis] * after;
    walk.dimension[0] = (struct nd_dimension){.extent = run, .stride = {1, 1}};
    walk.dimension[1].extent = before;
    walk.dimension[1].stride[in_whole] = whole->shape[axis] * after;
    walk.dimension[1].stride[1 - in_whole] = run;
    return walk;
}

static int prepare_concatenation(struct builder *builder, const struct tflite_operator_call *call)
{
    struct kernel_tensor out;
    uint32_t axis;
    TRY(kernel_output(builder, call, 0, &out));
    TRY(find_axis(builder, kernel_option(builder, call, CONCATENATION_AXIS, 0), &out, &axis));
    if (kernel_option_byte(builder, call, CONCATENATION_ACTIVATION, 0) != 0) {
        return kernel_unsupported(builder, "it has a fused activation");
    }
    int32_t position = 0;
    for (uint32_t i = 0; i < call->inputs.count; i++) {
        struct kernel_tensor in;
        struct copy p = {0};
        int32_t before;
        int32_t after;
        TRY(kernel_input(builder, call, i, &in));
        if (!fits_whole(&out, &in, axis) || in.shape[axis] > out.shape[axis] - position) {
            return kernel_bad(builder, "an input has another type or shape than its output");
        }
        if (out.element_size == 1 && (in.scale != out.scale || in.zero_point != out.zero_point)) {
            return kernel_unsupported(builder, "an input has another quantisation than its output");
        }
        p.walk = part_walk(&out, &in, axis, 0);
        around_axis(&out, axis, &before, &after);
        TRY(add_copy(builder, &kernel_CONCATENATION, &p, &out, position * after, &in, 0));
        position += in.shape[axis];
    }
    return position == out.shape[axis]
               ? ETHOSU_MODEL_OK
               : kernel_bad(builder, "its inputs together have another size than its output");
}

DEFINE_KERNEL(CONCATENATION, .prepare = prepare_concatenation, .run = run_copy);

static int add_splits(struct builder *builder, const struct tflite_operator_call *call,
                      const struct kernel *kernel, uint32_t input, uint32_t axis_input)
{
    struct kernel_tensor in;
    struct integers axes;
    uint32_t axis;
    TRY(kernel_input(builder, call, input, &in));
    TRY(integers_read(builder, call, axis_input, 1, &axes));
    TRY(find_axis(builder, axes.value[0], &in, &axis));
    int32_t position = 0;
    for (uint32_t i = 0; i < call->outputs.count; i++) {
        struct kernel_tensor out;
        struct copy p = {0};
        int32_t before;
        int32_t after;
        TRY(kernel_output(builder, call, i, &out));
        if (!fits_whole(&in, &out, axis) || out.shape[axis] > in.shape[axis] - position) {
            return kernel_bad(builder, "an output has another type or shape than its input");
        }
        p.walk = part_walk(&in, &out, axis, 1);
        around_axis(&in, axis, &before, &after);
        TRY(add_copy(builder, kernel, &p, &out, 0, &in, position * after));
        position += out.shape[axis];
    }
    return ETHOSU_MODEL_OK;
}

static int prepare_split(struct builder *builder, const struct tflite_operator_call *call)
{
    return add_splits(builder, call, &kernel_SPLIT, 1, 0);
}

static int prepare_split_v(struct builder *builder, const struct tflite_operator_call *call)
{
    return add_splits(builder, call, &kernel_SPLIT_V, 0, 2);
}

DEFINE_KERNEL(SPLIT, .prepare = prepare_split, .run = run_copy);
DEFINE_KERNEL(SPLIT_V, .prepare = prepare_split_v, .run = run_copy);
