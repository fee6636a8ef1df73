// SPDX-License-Identifier: MIT
/**
 * Operators that move elements and change none: TRANSPOSE, SLICE, STRIDED_SLICE,
 * SPLIT, SPLIT_V, CONCATENATION, PAD, PADV2, GATHER.
 *
 * All but GATHER become strided copies, one for each tensor that is split off
 * or joined.
 */
#include "element.h"
#include "integers.h"
#include "nd.h"

#include <string.h>

/** Fields of the options. */
enum { CONCATENATION_AXIS = 0, CONCATENATION_ACTIVATION = 1 };
enum { GATHER_AXIS = 0, GATHER_BATCH_DIMS = 1 };
enum {
    STRIDED_SLICE_BEGIN = 0,
    STRIDED_SLICE_END = 1,
    STRIDED_SLICE_ELLIPSIS = 2,
    STRIDED_SLICE_NEW_AXIS = 3,
    STRIDED_SLICE_SHRINK = 4,
    STRIDED_SLICE_OFFSET = 5,
};

/** Fill a tensor if need be, then copy into it. */
struct copy {
    struct kernel_call call;
    void *output;
    const void *input;
    uint32_t element_size;
    void *fill;        /**< NULL: nothing to fill */
    const void *value; /**< of the filling; NULL: `pattern` */
    int32_t fill_count;
    uint8_t pattern[8];
    struct nd_walk walk;
};

static int run_copy(const struct kernel_call *call)
{
    const struct copy *p = (const struct copy *)call;
    const void *value = p->value == NULL ? p->pattern : p->value;
    if (p->fill != NULL && p->element_size == 1) {
        memset(p->fill, *(const uint8_t *)value, (size_t)p->fill_count);
    } else if (p->fill != NULL) {
        for (int32_t i = 0; i < p->fill_count; ++i) {
            memcpy(element_at(p->fill, i, p->element_size), value, p->element_size);
        }
    }
    nd_copy(&p->walk, p->output, p->input, p->element_size);
    return ETHOSU_MODEL_OK;
}

#define COPY_KERNEL(name, prepare_function) \
    const struct kernel kernel_##name = {   \
        .code = CODE_##name, .version = 1, .prepare = prepare_function, .run = run_copy}

/** Add a copy; `to` and `from` are the first elements that it touches. */
static int add_copy(struct builder *builder, const struct kernel *kernel, struct copy *p,
                    const struct kernel_tensor *output, int32_t to,
                    const struct kernel_tensor *input, int32_t from)
{
    p->element_size = output->element_size;
    p->output = builder->loading ? element_at(output->data, to, p->element_size) : NULL;
    p->input = builder->loading ? element_at(input->data, from, p->element_size) : NULL;
    nd_simplify(&p->walk);
    return kernel_add(builder, kernel, &p->call, nd_block_size(p, &p->walk));
}

/** Input 0 and output 0, of one type. */
static int find_pair(struct builder *builder, const struct tflite_operator_call *call,
                     struct kernel_tensor *input, struct kernel_tensor *output)
{
    int status = kernel_tensors(builder, call, input, 1, output, 1);
    return status != ETHOSU_MODEL_OK || input->type == output->type
               ? status
               : kernel_bad(builder, "input and output differ in type");
}

/* ---- TRANSPOSE ---- */

static int prepare_transpose(struct builder *builder, const struct tflite_operator_call *call)
{
    struct kernel_tensor in;
    struct kernel_tensor out;
    struct integers order;
    int status = find_pair(builder, call, &in, &out);
    if (status == ETHOSU_MODEL_OK) {
        status = integers_read(builder, call, 1, in.rank, &order);
    }
    if (status != ETHOSU_MODEL_OK) {
        return status;
    }
    int32_t from[ETHOSU_MODEL_MAX_RANK];
    int32_t to[ETHOSU_MODEL_MAX_RANK];
    struct copy p = {.walk.rank = in.rank};
    uint32_t seen = 0;
    nd_dense(&in, from);
    nd_dense(&out, to);
    for (uint32_t i = 0; i < in.rank; ++i) {
        int32_t axis = order.value[i] < 0 ? order.value[i] + (int32_t)in.rank : order.value[i];
        if (axis < 0 || axis >= (int32_t)in.rank || out.rank != in.rank ||
            out.shape[i] != in.shape[axis]) {
            return kernel_bad(builder, "its order of dimensions does not fit its shapes");
        }
        seen |= 1u << axis;
        p.walk.dimension[in.rank - 1 - i] =
            (struct nd_dimension){.extent = out.shape[i], .stride = {to[i], from[axis]}};
    }
    if (seen != (1u << in.rank) - 1u) {
        return kernel_bad(builder, "its order names a dimension twice");
    }
    return add_copy(builder, &kernel_TRANSPOSE, &p, &out, 0, &in, 0);
}

COPY_KERNEL(TRANSPOSE, prepare_transpose);

/* ---- SLICE and STRIDED_SLICE ---- */

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
            return kernel_bad(builder, "it reaches beyond its input");
        }
        p.walk.dimension[in->rank - 1 - i] = (struct nd_dimension){
            .extent = part->extent[i], .stride = {(int32_t)step, from[i] * part->step[i]}};
        first += part->start[i] * from[i];
        step *= part->extent[i];
    }
    if (step != out->count) {
        return kernel_bad(builder, "its output does not have as many elements as it takes");
    }
    return add_copy(builder, kernel, &p, out, 0, in, first);
}

static int prepare_slice(struct builder *builder, const struct tflite_operator_call *call)
{
    struct kernel_tensor in;
    struct kernel_tensor out;
    struct integers begin;
    struct integers size;
    int status = find_pair(builder, call, &in, &out);
    if (status == ETHOSU_MODEL_OK) {
        status = integers_read(builder, call, 1, in.rank, &begin);
    }
    if (status == ETHOSU_MODEL_OK) {
        status = integers_read(builder, call, 2, in.rank, &size);
    }
    struct part part = {.rank = in.rank};
    for (uint32_t i = 0; i < in.rank && status == ETHOSU_MODEL_OK; ++i) {
        part.start[i] = begin.value[i];
        part.step[i] = 1;
        bool rest = size.value[i] == -1 && begin.value[i] >= 0;
        part.extent[i] = rest ? in.shape[i] - begin.value[i] : size.value[i];
    }
    return status == ETHOSU_MODEL_OK ? add_part(builder, &kernel_SLICE, &part, &in, &out) : status;
}

COPY_KERNEL(SLICE, prepare_slice);

/** What the options and constants of a STRIDED_SLICE say, entry by entry. */
struct slice_spec {
    struct integers begin, end, step;
    uint32_t begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_mask;
    bool offset; /**< ends count from the beginnings */
};

static int32_t bound_index(int64_t index, int32_t size, int32_t step)
{
    index = index < 0 ? index + size : index;
    int32_t low = step > 0 ? 0 : -1;
    int32_t high = step > 0 ? size : size - 1;
    return index < low ? low : index > high ? high : (int32_t)index;
}

/** One dimension as entry `i` of the specification has it. */
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

/** Dimensions that an ellipsis stands for. */
static uint32_t ellipsis_width(const struct slice_spec *spec, uint32_t rank)
{
    uint32_t named = 0;
    for (uint32_t i = 0; i < spec->begin.count; ++i) {
        named += ((spec->ellipsis_mask | spec->new_axis_mask) >> i & 1) == 0;
    }
    return rank > named ? rank - named : 0;
}

static int take_part(struct builder *builder, const struct slice_spec *spec,
                     const struct kernel_tensor *in, struct part *part)
{
    uint32_t axis = 0;
    for (uint32_t i = 0; i < spec->begin.count; ++i) {
        uint32_t width = 1;
        bool all = (spec->ellipsis_mask >> i & 1) != 0;
        if (all) {
            width = ellipsis_width(spec, in->rank);
        } else if ((spec->new_axis_mask >> i & 1) != 0) {
            continue; // one more dimension of extent 1: nothing to copy otherwise
        }
        if (axis + width > in->rank || spec->step.value[i] == 0 ||
            spec->step.value[i] == INT32_MIN) {
            return kernel_bad(builder, "it has more entries than its input dimensions, or step 0");
        }
        for (uint32_t k = 0; k < width; ++k, ++axis) {
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

static int prepare_strided_slice(struct builder *builder, const struct tflite_operator_call *call)
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
    int status = find_pair(builder, call, &in, &out);
    if (status == ETHOSU_MODEL_OK) {
        status = integers_read(builder, call, 1, 0, &spec.begin);
    }
    if (status == ETHOSU_MODEL_OK) {
        status = integers_read(builder, call, 2, spec.begin.count, &spec.end);
    }
    if (status == ETHOSU_MODEL_OK) {
        status = integers_read(builder, call, 3, spec.begin.count, &spec.step);
    }
    struct part part = {.rank = in.rank};
    if (status == ETHOSU_MODEL_OK) {
        status = take_part(builder, &spec, &in, &part);
    }
    return status == ETHOSU_MODEL_OK ? add_part(builder, &kernel_STRIDED_SLICE, &part, &in, &out)
                                     : status;
}

COPY_KERNEL(STRIDED_SLICE, prepare_strided_slice);

/* ---- CONCATENATION, SPLIT, SPLIT_V: a whole tensor and its parts along an axis ---- */

/** Products of the dimensions before an axis and after it. */
static void around_axis(const struct kernel_tensor *tensor, uint32_t axis, int32_t *before,
                        int32_t *after)
{
    *before = *after = 1;
    for (uint32_t i = 0; i < tensor->rank; ++i) {
        if (i != axis) {
            *(i < axis ? before : after) *= tensor->shape[i];
        }
    }
}

/** Does a part fit the whole, but for the axis? */
static bool fits_whole(const struct kernel_tensor *whole, const struct kernel_tensor *part,
                       uint32_t axis)
{
    bool fits = part->rank == whole->rank && part->type == whole->type;
    for (uint32_t i = 0; i < whole->rank && fits; ++i) {
        fits = i == axis || part->shape[i] == whole->shape[i];
    }
    return fits;
}

/** Walk over a part that lies in the whole: tensor `in_whole` is the whole, the other the part. */
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

static int find_axis(struct builder *builder, int32_t axis, const struct kernel_tensor *tensor,
                     uint32_t *found)
{
    int32_t rank = (int32_t)tensor->rank;
    *found = (uint32_t)(axis < 0 ? axis + rank : axis);
    return *found < tensor->rank ? ETHOSU_MODEL_OK
                                 : kernel_bad(builder, "it names an axis that there is not");
}

static int prepare_concatenation(struct builder *builder, const struct tflite_operator_call *call)
{
    struct kernel_tensor out;
    uint32_t axis;
    int status = kernel_output(builder, call, 0, &out);
    if (status == ETHOSU_MODEL_OK) {
        status =
            find_axis(builder, kernel_option(builder, call, CONCATENATION_AXIS, 0), &out, &axis);
    }
    if (status == ETHOSU_MODEL_OK &&
        kernel_option_byte(builder, call, CONCATENATION_ACTIVATION, 0) != 0) {
        status = kernel_unsupported(builder, "it has a fused activation");
    }
    int32_t position = 0;
    for (uint32_t i = 0; i < call->inputs.count && status == ETHOSU_MODEL_OK; ++i) {
        struct kernel_tensor in;
        struct copy p = {0};
        int32_t before;
        int32_t after;
        status = kernel_input(builder, call, i, &in);
        if (status != ETHOSU_MODEL_OK) {
            break;
        }
        if (!fits_whole(&out, &in, axis) || in.shape[axis] > out.shape[axis] - position) {
            return kernel_bad(builder, "an input does not fit its output");
        }
        if (out.element_size == 1 && (in.scale != out.scale || in.zero_point != out.zero_point)) {
            return kernel_unsupported(builder, "an input is quantised otherwise than its output");
        }
        p.walk = part_walk(&out, &in, axis, 0);
        around_axis(&out, axis, &before, &after);
        status = add_copy(builder, &kernel_CONCATENATION, &p, &out, position * after, &in, 0);
        position += in.shape[axis];
    }
    return status != ETHOSU_MODEL_OK || position == out.shape[axis]
               ? status
               : kernel_bad(builder, "its inputs do not fill its output");
}

COPY_KERNEL(CONCATENATION, prepare_concatenation);

static int add_splits(struct builder *builder, const struct tflite_operator_call *call,
                      const struct kernel *kernel, uint32_t input, uint32_t axis_input)
{
    struct kernel_tensor in;
    struct integers axes;
    uint32_t axis;
    int status = kernel_input(builder, call, input, &in);
    if (status == ETHOSU_MODEL_OK) {
        status = integers_read(builder, call, axis_input, 1, &axes);
    }
    if (status == ETHOSU_MODEL_OK) {
        status = find_axis(builder, axes.value[0], &in, &axis);
    }
    int32_t position = 0;
    for (uint32_t i = 0; i < call->outputs.count && status == ETHOSU_MODEL_OK; ++i) {
        struct kernel_tensor out;
        struct copy p = {0};
        int32_t before;
        int32_t after;
        status = kernel_output(builder, call, i, &out);
        if (status != ETHOSU_MODEL_OK) {
            break;
        }
        if (!fits_whole(&in, &out, axis) || out.shape[axis] > in.shape[axis] - position) {
            return kernel_bad(builder, "an output does not fit its input");
        }
        p.walk = part_walk(&in, &out, axis, 1);
        around_axis(&in, axis, &before, &after);
        status = add_copy(builder, kernel, &p, &out, 0, &in, position * after);
        position += out.shape[axis];
    }
    return status;
}

static int prepare_split(struct builder *builder, const struct tflite_operator_call *call)
{
    return add_splits(builder, call, &kernel_SPLIT, 1, 0);
}

static int prepare_split_v(struct builder *builder, const struct tflite_operator_call *call)
{
    return add_splits(builder, call, &kernel_SPLIT_V, 0, 2);
}

COPY_KERNEL(SPLIT, prepare_split);
COPY_KERNEL(SPLIT_V, prepare_split_v);

/* ---- PAD and PADV2 ---- */

static int add_pad(struct builder *builder, const struct tflite_operator_call *call,
                   const struct kernel *kernel, struct copy *p)
{
    struct kernel_tensor in;
    struct kernel_tensor out;
    struct integers pads;
    int status = find_pair(builder, call, &in, &out);
    if (status == ETHOSU_MODEL_OK) {
        status = integers_read(builder, call, 1, 2 * in.rank, &pads);
    }
    if (status != ETHOSU_MODEL_OK) {
        return status;
    }
    int32_t from[ETHOSU_MODEL_MAX_RANK];
    int32_t to[ETHOSU_MODEL_MAX_RANK];
    int32_t first = 0;
    nd_dense(&in, from);
    nd_dense(&out, to);
    p->walk.rank = in.rank;
    for (uint32_t i = 0; i < in.rank; ++i) {
        int64_t padded = (int64_t)pads.value[2 * i] + in.shape[i] + pads.value[2 * i + 1];
        if (pads.value[2 * i] < 0 || pads.value[2 * i + 1] < 0 || out.rank != in.rank ||
            padded != out.shape[i]) {
            return kernel_bad(builder, "its paddings do not fit its shapes");
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

static int prepare_pad(struct builder *builder, const struct tflite_operator_call *call)
{
    struct copy p = {0};
    return add_pad(builder, call, &kernel_PAD, &p);
}

static int prepare_padv2(struct builder *builder, const struct tflite_operator_call *call)
{
    struct copy p = {0};
    struct kernel_tensor in;
    struct kernel_tensor value;
    int status = kernel_input(builder, call, 0, &in);
    if (status == ETHOSU_MODEL_OK) {
        status = kernel_input(builder, call, 2, &value);
    }
    if (status != ETHOSU_MODEL_OK) {
        return status;
    }
    if (value.count != 1 || value.type != in.type) {
        return kernel_bad(builder, "its value is not one element of its input's type");
    }
    p.value = value.data;
    return add_pad(builder, call, &kernel_PADV2, &p);
}

COPY_KERNEL(PAD, prepare_pad);
COPY_KERNEL(PADV2, prepare_padv2);

/* ---- GATHER ---- */

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
    size_t run;      /**< bytes of what lies behind the axis */
};

static int run_gather(const struct kernel_call *call)
{
    const struct gather *p = (const struct gather *)call;
    uint8_t *output = p->output;
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        for (int32_t outer = 0; outer < p->outer; ++outer) {
            const uint8_t *rows =
                p->input + (size_t)(batch * p->outer + outer) * (size_t)p->size * p->run;
            for (int32_t i = 0; i < p->count; ++i) {
                int64_t index = integer_at(p->indices, p->index_type, batch * p->count + i);
                if (index < 0 || index >= p->size) {
                    return ETHOSU_MODEL_BAD_VALUE;
                }
                memcpy(output, rows + (size_t)index * p->run, p->run);
                output += p->run;
            }
        }
    }
    return ETHOSU_MODEL_OK;
}

static int32_t product(const struct kernel_tensor *tensor, uint32_t first, uint32_t end)
{
    int32_t result = 1;
    for (uint32_t i = first; i < end; ++i) {
        result *= tensor->shape[i];
    }
    return result;
}

static int prepare_gather(struct builder *builder, const struct tflite_operator_call *call)
{
    struct kernel_tensor in[2];
    struct kernel_tensor out;
    uint32_t axis;
    int status = kernel_tensors(builder, call, in, 2, &out, 1);
    if (status == ETHOSU_MODEL_OK) {
        status = find_axis(builder, kernel_option(builder, call, GATHER_AXIS, 0), &in[0], &axis);
    }
    if (status != ETHOSU_MODEL_OK) {
        return status;
    }
    int32_t batch_dims = kernel_option(builder, call, GATHER_BATCH_DIMS, 0);
    uint32_t batched = (uint32_t)(batch_dims < 0 ? batch_dims + (int32_t)in[1].rank : batch_dims);
    if (batched > axis || batched > in[1].rank ||
        memcmp(in[0].shape, in[1].shape, batched * sizeof in[0].shape[0]) != 0) {
        return kernel_bad(builder, "its batch dimensions do not fit its shapes");
    }
    if (!integer_type(in[1].type) || in[0].type != out.type) {
        return kernel_bad_type(builder, &in[1]);
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
        return kernel_bad(builder, "its output does not have as many elements as it takes");
    }
    return kernel_add(builder, &kernel_GATHER, &p.call, sizeof p);
}

const struct kernel kernel_GATHER = {
    .code = CODE_GATHER, .version = 1, .prepare = prepare_gather, .run = run_gather};
