// SPDX-License-Identifier: MIT
/** SLICE and STRIDED_SLICE. */
#include "runtime/kernels/shape/copy.h"

/** Fields of the options. */
enum {
    STRIDED_SLICE_BEGIN = 0,
    STRIDED_SLICE_END = 1,
    STRIDED_SLICE_ELLIPSIS = 2,
    STRIDED_SLICE_NEW_AXIS = 3,
    STRIDED_SLICE_SHRINK = 4,
    STRIDED_SLICE_OFFSET = 5,
};

/** A part of a tensor: elements start, start + step, … of each dimension. */
struct part {
    uint32_t rank;
    int32_t start[ETHOSU_MODEL_MAX_RANK];
    int32_t step[ETHOSU_MODEL_MAX_RANK];
    int32_t extent[ETHOSU_MODEL_MAX_RANK];
};

static int add_part(struct builder *builder, const struct kernel *kernel, const struct part *part,
                    const struct kernel_tensor *in, const struct kernel_tensor *out)
{
    int32_t from[ETHOSU_MODEL_MAX_RANK];
    struct copy p = {.walk.rank = in->rank};
    int64_t step = 1;
    int32_t first = 0;
    nd_dense(in, from);
    for (uint32_t i = in->rank; i-- > 0;) {
        int64_t last = part->start[i] + part->step[i] * ((int64_t)part->extent[i] - 1);
        if (part->extent[i] <= 0 || part->start[i] < 0 || part->start[i] >= in->shape[i] ||
            last < 0 || last >= in->shape[i]) {
            return kernel_bad(builder, "the slice is empty or exceeds the input");
        }
        p.walk.dimension[in->rank - 1 - i] = (struct nd_dimension){
            .extent = part->extent[i], .stride = {(int32_t)step, from[i] * part->step[i]}};
        first += part->start[i] * from[i];
        step *= part->extent[i];
    }
    if (step != out->count) {
        return kernel_bad(builder, "output has the wrong number of elements");
    }
    return add_copy(builder, kernel, &p, out, 0, in, first);
}

static int prepare_slice(struct builder *builder, const struct tflite_operator_call *call,
                         const struct kernel *kernel)
{
    struct kernel_tensor in;
    struct kernel_tensor out;
    struct integers begin;
    struct integers size;
    TRY(find_pair(builder, call, &in, &out));
    TRY(integers_read(builder, call, 1, in.rank, &begin));
    TRY(integers_read(builder, call, 2, in.rank, &size));
    struct part part = {.rank = in.rank};
    for (uint32_t i = 0; i < in.rank; i++) {
        part.start[i] = begin.value[i];
        part.step[i] = 1;
        bool rest = size.value[i] == -1 && begin.value[i] >= 0;
        part.extent[i] = rest ? in.shape[i] - begin.value[i] : size.value[i];
    }
    return add_part(builder, kernel, &part, &in, &out);
}

DEFINE_KERNEL(SLICE, .prepare = prepare_slice, .run = run_copy);

/** Options and constants of a STRIDED_SLICE: one entry for each dimension or mask bit. */
struct slice_spec {
    struct integers begin, end, step;
    uint32_t begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_mask;
    bool offset; /**< ends are relative to the begins */
};

static int32_t bound_index(int64_t index, int32_t size, int32_t step)
{
    index = index < 0 ? index + size : index;
    int32_t low = step > 0 ? 0 : -1;
    int32_t high = step > 0 ? size : size - 1;
    return index < low ? low : index > high ? high : (int32_t)index;
}

/** Get the range of one dimension from entry `i` of the specification. */
static void take_range(const struct slice_spec *spec, uint32_t i, int32_t size, struct part *part,
                       uint32_t axis)
{
    int32_t step = spec->step.value[i];
    int32_t start = bound_index(spec->begin.value[i], size, step);
    if ((spec->begin_mask >> i & 1) != 0) {
        start = step > 0 ? 0 : size - 1;
    }
    int64_t wanted = (int64_t)spec->end.value[i] + (spec->offset ? start : 0);
    int32_t end = bound_index(wanted, size, step);
    if ((spec->end_mask >> i & 1) != 0) {
        end = step > 0 ? size : -1;
    }
    if ((spec->shrink_mask >> i & 1) != 0) {
        end = start + 1;
        step = 1;
    }
    int64_t distance = step > 0 ? (int64_t)end - start : (int64_t)start - end;
    int64_t stride = step > 0 ? step : -(int64_t)step;
    part->start[axis] = start;
    part->extent[axis] = distance <= 0 ? 0 : (int32_t)((distance + stride - 1) / stride);
    part->step[axis] = part->extent[axis] == 1 ? 1 : step;
}

static void take_all(const struct kernel_tensor *in, struct part *part, uint32_t axis)
{
    part->start[axis] = 0;
    part->step[axis] = 1;
    part->extent[axis] = in->shape[axis];
}

/** Number of dimensions that an ellipsis represents. */
static uint32_t ellipsis_width(const struct slice_spec *spec, uint32_t rank)
{
    uint32_t named = 0;
    for (uint32_t i = 0; i < spec->begin.count; i++) {
        named += ((spec->ellipsis_mask | spec->new_axis_mask) >> i & 1) == 0;
    }
    return rank > named ? rank - named : 0;
}

static int take_part(struct builder *builder, const struct slice_spec *spec,
                     const struct kernel_tensor *in, struct part *part)
{
    uint32_t axis = 0;
    for (uint32_t i = 0; i < spec->begin.count; i++) {
        uint32_t width = 1;
        bool all = (spec->ellipsis_mask >> i & 1) != 0;
        if (all) {
            width = ellipsis_width(spec, in->rank);
        } else if ((spec->new_axis_mask >> i & 1) != 0) {
            continue; // an output dimension of extent 1 does not change the copy
        }
        if (axis + width > in->rank || spec->step.value[i] == 0 ||
            spec->step.value[i] == INT32_MIN) {
            return kernel_bad(builder, "more entries than input dimensions, or a step of 0");
        }
        for (uint32_t k = 0; k < width; k++, axis++) {
            if (all) {
                take_all(in, part, axis);
            } else {
                take_range(spec, i, in->shape[axis], part, axis);
            }
        }
    }
    while (axis < in->rank) {
        take_all(in, part, axis++);
    }
    return ETHOSU_MODEL_OK;
}

static int prepare_strided_slice(struct builder *builder, const struct tflite_operator_call *call,
                                 const struct kernel *kernel)
{
    struct kernel_tensor in;
    struct kernel_tensor out;
    struct slice_spec spec = {
        .begin_mask = (uint32_t)kernel_option(builder, call, STRIDED_SLICE_BEGIN, 0),
        .end_mask = (uint32_t)kernel_option(builder, call, STRIDED_SLICE_END, 0),
        .ellipsis_mask = (uint32_t)kernel_option(builder, call, STRIDED_SLICE_ELLIPSIS, 0),
        .new_axis_mask = (uint32_t)kernel_option(builder, call, STRIDED_SLICE_NEW_AXIS, 0),
        .shrink_mask = (uint32_t)kernel_option(builder, call, STRIDED_SLICE_SHRINK, 0),
        .offset = kernel_option_byte(builder, call, STRIDED_SLICE_OFFSET, 0) != 0,
    };
    TRY(find_pair(builder, call, &in, &out));
    TRY(integers_read(builder, call, 1, 0, &spec.begin));
    TRY(integers_read(builder, call, 2, spec.begin.count, &spec.end));
    TRY(integers_read(builder, call, 3, spec.begin.count, &spec.step));
    struct part part = {.rank = in.rank};
    TRY(take_part(builder, &spec, &in, &part));
    return add_part(builder, kernel, &part, &in, &out);
}

DEFINE_KERNEL(STRIDED_SLICE, .prepare = prepare_strided_slice, .run = run_copy);
