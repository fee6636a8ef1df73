// SPDX-License-Identifier: MIT
/**
 * Operators that move elements: dim_order_ops::_to_dim_order_copy and _clone_dim_order,
 * aten::clone, _to_copy, copy_, permute_copy, expand_copy, view_copy, squeeze_copy, unsqueeze_copy,
 * slice_copy and cat, executorch_prim::et_view, cortex_m::transpose and pad. Sizes and strides
 * follow kernels/portable of pytorch/executorch 1.5: an element keeps its position in the tensor's
 * dimensions, regardless of the order of its bytes.
 */
#include "runtime/kernels/shape/copy.h"
#include "executorch/build/program_operators.h"

#include <string.h>

/** The part of a tensor to copy: its extents and the input's strides. */
struct part {
    int32_t extent[ETHOSU_MODEL_MAX_RANK];
    int32_t from[ETHOSU_MODEL_MAX_RANK]; /**< the input's stride in elements */
    int32_t first_from;                  /**< the input's first element */
    int32_t first_to;                    /**< the output's first element */
};

/** Copy a part of `in` to a part of `out`; `p` may specify how to fill `out` first. */
static int add_part(struct program_builder *program, const struct program_operand *in,
                    const struct program_operand *out, const struct part *part, struct copy *p)
{
    const struct program_tensor *to = &out->tensor;
    uint32_t size = ethosu_model_type_size(to->type);
    const struct kernel *kernel; // any walking kernel: only its function is needed
    int32_t strides[ETHOSU_MODEL_MAX_RANK];
    TRY(program_kernel(program, TFLITE_TRANSPOSE, &kernel));
    TRY(program_check_apart(program, in, out));
    program_strides(to, strides);
    p->element_size = size;
    p->walk.rank = to->rank;
    for (uint32_t i = 0; i < to->rank; i++) {
        // From the innermost dimension of the output outwards, so that it is written in order.
        uint32_t axis = to->order[to->rank - 1 - i];
        p->walk.dimension[i] = (struct nd_dimension){.extent = part->extent[axis],
                                                     .stride = {strides[axis], part->from[axis]}};
    }
    if (program->builder->loading) {
        p->output = (uint8_t *)out->data + (uint32_t)part->first_to * size;
        p->input = (const uint8_t *)in->data + (uint32_t)part->first_from * size;
    }
    nd_simplify(&p->walk);
    return kernel_add_step(program->builder, kernel, &p->call, nd_block_size(p, &p->walk));
}

/** Get input and output, which must not be empty. */
static int get_any(struct program_builder *program, const struct fb_vector *arguments,
                   uint32_t source, struct program_operand *in, struct program_operand *out)
{
    TRY(argument_tensor(program, arguments, source, in));
    TRY(argument_result(program, arguments, out));
    return out->tensor.size != 0 ? ETHOSU_MODEL_OK : program_refuse_shapes(program);
}

/** The same; they must have the same type. */
static int get_both(struct program_builder *program, const struct fb_vector *arguments,
                    uint32_t source, struct program_operand *in, struct program_operand *out)
{
    TRY(get_any(program, arguments, source, in, out));
    return in->tensor.type == out->tensor.type
               ? ETHOSU_MODEL_OK
               : program_refuse(program, ETHOSU_MODEL_UNSUPPORTED, "tensors differ in type");
}

/** Copy `in` to `out`, whose dimension i is dimension axes[i] of `in`. */
static int add_whole(struct program_builder *program, const struct program_operand *in,
                     const struct program_operand *out, const int64_t *axes)
{
    struct part part = {0};
    struct copy p = {0};
    int32_t strides[ETHOSU_MODEL_MAX_RANK];
    program_strides(&in->tensor, strides);
    for (uint32_t i = 0; i < out->tensor.rank; i++) {
        part.extent[i] = out->tensor.shape[i];
        part.from[i] = strides[axes[i]];
        if (part.extent[i] != in->tensor.shape[axes[i]]) {
            return program_refuse_shapes(program);
        }
    }
    return add_part(program, in, out, &part, &p);
}

/** Copy a tensor to one of the same sizes. */
static int add_same(struct program_builder *program, const struct program_operand *in,
                    const struct program_operand *out)
{
    static const int64_t same[ETHOSU_MODEL_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
    return in->tensor.rank == out->tensor.rank ? add_whole(program, in, out, same)
                                               : program_refuse_shapes(program);
}

int prepare_clone(struct program_builder *program, const struct fb_vector *arguments)
{
    struct program_operand in;
    struct program_operand out;
    TRY(get_both(program, arguments, 0, &in, &out));
    return add_same(program, &in, &out);
}

/** Copy argument `source`, whose type may be another one. */
static int prepare_any(struct program_builder *program, const struct fb_vector *arguments,
                       uint32_t source)
{
    struct program_operand in;
    struct program_operand out;
    TRY(get_any(program, arguments, source, &in, &out));
    return in.tensor.type == out.tensor.type ? add_same(program, &in, &out)
                                             : program_convert(program, &in, &out);
}

int prepare_convert(struct program_builder *program, const struct fb_vector *arguments)
{
    return prepare_any(program, arguments, 0);
}

int prepare_assign(struct program_builder *program, const struct fb_vector *arguments)
{
    return prepare_any(program, arguments, 1); // after the tensor that it writes
}

/** Get an axis of a tensor; negative axes count from the last. */
static int get_axis(struct program_builder *program, const struct fb_vector *arguments,
                    uint32_t index, uint32_t rank, uint32_t *axis)
{
    int32_t number;
    TRY(argument_int(program, arguments, index, -(int32_t)rank, (int32_t)rank - 1, &number));
    *axis = (uint32_t)(number < 0 ? number + (int32_t)rank : number);
    return ETHOSU_MODEL_OK;
}

int prepare_permute(struct program_builder *program, const struct fb_vector *arguments)
{
    struct program_operand in;
    struct program_operand out;
    int64_t axes[ETHOSU_MODEL_MAX_RANK];
    uint32_t seen = 0;
    TRY(get_both(program, arguments, 0, &in, &out));
    uint32_t rank = in.tensor.rank;
    uint32_t list = fb_u32_at(&program->program.fb, arguments, 1);
    bool right = rank == out.tensor.rank && program_get_ints(&program->program, list, rank, axes);
    for (uint32_t i = 0; i < rank && right; i++) {
        axes[i] += axes[i] < 0 ? (int64_t)rank : 0;
        right = axes[i] >= 0 && axes[i] < (int64_t)rank;
        seen |= right ? 1u << axes[i] : 0;
    }
    if (!right || seen != (1u << rank) - 1) {
        return program_refuse(program, ETHOSU_MODEL_BAD_FILE,
                              "order does not list each dimension once");
    }
    return add_whole(program, &in, &out, axes);
}

/** Dimensions of size 1 are repeated; the output may have additional leading dimensions. */
int prepare_expand(struct program_builder *program, const struct fb_vector *arguments)
{
    struct program_operand in;
    struct program_operand out;
    struct part part = {0};
    struct copy p = {0};
    int32_t strides[ETHOSU_MODEL_MAX_RANK];
    TRY(get_both(program, arguments, 0, &in, &out));
    uint32_t rank = out.tensor.rank;
    if (in.tensor.rank > rank) {
        return program_refuse_shapes(program);
    }
    uint32_t missing = rank - in.tensor.rank;
    program_strides(&in.tensor, strides);
    for (uint32_t i = 0; i < rank; i++) {
        int32_t size = i < missing ? 1 : in.tensor.shape[i - missing];
        part.extent[i] = out.tensor.shape[i];
        part.from[i] = size == 1 ? 0 : strides[i - missing];
        if (size != 1 && size != part.extent[i]) {
            return program_refuse_shapes(program);
        }
    }
    return add_part(program, &in, &out, &part, &p);
}

/* ---- other shapes of the same bytes ---- */

int prepare_view(struct program_builder *program, const struct fb_vector *arguments)
{
    struct program_operand in;
    struct program_operand out;
    TRY(get_both(program, arguments, 0, &in, &out));
    if (in.tensor.size != out.tensor.size) {
        return program_refuse_shapes(program);
    }
    if (!program_is_in_order(&in.tensor) || !program_is_in_order(&out.tensor)) {
        return program_refuse(program, ETHOSU_MODEL_UNSUPPORTED,
                              "a view of a tensor with another dimension order");
    }
    return program_copy(program, &in, &out);
}

/* ---- parts ---- */

/** Get start or end of a slice. Negative values count from the end; values are clamped. */
static int get_bound(struct program_builder *program, const struct fb_vector *arguments,
                     uint32_t index, int64_t fallback, int64_t size, int64_t *bound)
{
    uint32_t argument = fb_u32_at(&program->program.fb, arguments, index);
    *bound = fallback;
    if (program_get_type(&program->program, argument) != PROGRAM_NULL &&
        !program_get_int(&program->program, argument, bound)) {
        return program_refuse(program, ETHOSU_MODEL_BAD_FILE, "start or end is not a number");
    }
    *bound = *bound < 0 && *bound >= -size ? *bound + size : *bound;
    *bound = *bound < 0 ? 0 : *bound > size ? size : *bound;
    return ETHOSU_MODEL_OK;
}

int prepare_slice(struct program_builder *program, const struct fb_vector *arguments)
{
    enum { AXIS = 1, START, END, STEP, MIN_COUNT };
    struct program_operand in;
    struct program_operand out;
    struct part part = {0};
    struct copy p = {0};
    int64_t start;
    int64_t end;
    int32_t step;
    uint32_t axis;
    if (arguments->count < MIN_COUNT) {
        return program_refuse(program, ETHOSU_MODEL_BAD_FILE, "too few arguments");
    }
    TRY(get_both(program, arguments, 0, &in, &out));
    uint32_t rank = in.tensor.rank;
    TRY(get_axis(program, arguments, AXIS, rank, &axis));
    TRY(argument_int(program, arguments, STEP, 1, INT32_MAX, &step));
    TRY(get_bound(program, arguments, START, 0, in.tensor.shape[axis], &start));
    TRY(get_bound(program, arguments, END, INT64_MAX, in.tensor.shape[axis], &end));
    program_strides(&in.tensor, part.from);
    bool right = rank == out.tensor.rank && end > start &&
                 (end - start + step - 1) / step == out.tensor.shape[axis];
    for (uint32_t i = 0; i < rank && right; i++) {
        part.extent[i] = out.tensor.shape[i];
        right = i == axis || part.extent[i] == in.tensor.shape[i];
    }
    if (!right) {
        return program_refuse_shapes(program);
    }
    part.first_from = (int32_t)start * part.from[axis];
    // With one element, the step is irrelevant and may be large.
    part.from[axis] = part.extent[axis] == 1 ? 0 : part.from[axis] * step;
    return add_part(program, &in, &out, &part, &p);
}

int prepare_cat(struct program_builder *program, const struct fb_vector *arguments)
{
    struct program *file = &program->program;
    struct program_operand in;
    struct program_operand out;
    struct fb_vector list;
    uint32_t axis;
    int32_t strides[ETHOSU_MODEL_MAX_RANK];
    int64_t position = 0;
    TRY(argument_result(program, arguments, &out));
    TRY(get_axis(program, arguments, 1, out.tensor.rank, &axis));
    if (!program_get_tensors(file, fb_u32_at(&file->fb, arguments, 0), &list) ||
        out.tensor.size == 0) {
        return program_refuse_shapes(program);
    }
    program_strides(&out.tensor, strides);
    for (uint32_t i = 0; i < list.count; i++) {
        struct part part = {0};
        struct copy p = {0};
        TRY(build_work(program->builder, WORK_OF_OPERATOR));
        TRY(program_operand(program, fb_u32_at(&file->fb, &list, i), &in));
        if (in.tensor.size == 0) {
            continue; // PyTorch allows any shape
        }
        bool right = in.tensor.rank == out.tensor.rank && in.tensor.type == out.tensor.type;
        for (uint32_t k = 0; k < out.tensor.rank && right; k++) {
            part.extent[k] = in.tensor.shape[k];
            right = k == axis ? position + part.extent[k] <= out.tensor.shape[k]
                              : part.extent[k] == out.tensor.shape[k];
        }
        if (!right) {
            return program_refuse_shapes(program);
        }
        program_strides(&in.tensor, part.from);
        part.first_to = (int32_t)position * strides[axis];
        position += part.extent[axis];
        TRY(add_part(program, &in, &out, &part, &p));
    }
    return position == out.tensor.shape[axis] ? ETHOSU_MODEL_OK : program_refuse_shapes(program);
}

/** Exporters store the four paddings in the byte order of channels-last tensors. */
int prepare_pad(struct program_builder *program, const struct fb_vector *arguments)
{
    enum { BEFORE = 1, BEHIND, VALUE, PADS = 4 };
    static const uint8_t places[PADS] = {0, 3, 1, 2}; // of N, C, H, W
    struct program *file = &program->program;
    struct program_operand in;
    struct program_operand out;
    struct part part = {0};
    int64_t pads[2][PADS];
    int32_t strides[ETHOSU_MODEL_MAX_RANK];
    int32_t value;
    TRY(get_both(program, arguments, 0, &in, &out));
    TRY(argument_int(program, arguments, VALUE, INT8_MIN, INT8_MAX, &value));
    const struct program_tensor *tensor = &in.tensor;
    uint32_t rank = tensor->rank;
    bool right = rank <= PADS && rank == out.tensor.rank && tensor->type == ETHOSU_TYPE_INT8;
    for (int i = 0; i < 2; i++) {
        right = right &&
                program_get_ints(file, fb_u32_at(&file->fb, arguments, BEFORE + i), PADS, pads[i]);
    }
    bool last = rank == PADS && (tensor->shape[1] == 1 || !program_is_in_order(tensor) ||
                                 (tensor->shape[2] == 1 && tensor->shape[3] == 1));
    program_strides(tensor, part.from);
    program_strides(&out.tensor, strides);
    for (uint32_t i = 0; i < rank && right; i++) {
        uint32_t place = last ? places[i] : PADS - rank + i;
        int64_t before = pads[0][place];
        int64_t behind = pads[1][place];
        part.extent[i] = tensor->shape[i];
        right = before >= 0 && before <= INT32_MAX && behind >= 0 && behind <= INT32_MAX &&
                before + part.extent[i] + behind == out.tensor.shape[i];
        part.first_to += right ? (int32_t)before * strides[i] : 0;
    }
    if (!right || tensor->size == 0) {
        return program_refuse_shapes(program);
    }
    struct copy p = {.fill = out.data, .fill_count = (int32_t)out.tensor.size};
    p.pattern[0] = (uint8_t)value;
    return add_part(program, &in, &out, &part, &p);
}
