// SPDX-License-Identifier: MIT
/**
 * Operators that only move elements: dim_order_ops::_to_dim_order_copy and _clone_dim_order,
 * aten::clone, copy_ and permute_copy. Sizes and strides are those of kernels/portable of
 * pytorch/executorch 1.5: an element keeps its place among the tensor's dimensions, whatever the
 * order of its bytes.
 */
#include "kernels/copy.h"
#include "program_operators.h"

/** Distances between elements, for each dimension in the order of the sizes. */
static void get_strides(const struct program_tensor *tensor, int32_t *strides)
{
    int32_t step = 1;
    for (uint32_t i = tensor->rank; i-- > 0;) {
        strides[tensor->order[i]] = step;
        step *= tensor->shape[tensor->order[i]];
    }
}

/** Copy `in` to `out`, whose dimension i is dimension axes[i] of `in`. */
static int add_walk(struct program_builder *program, const struct program_operand *in,
                    const struct program_operand *out, const int64_t *axes)
{
    // A kernel that walks: its function is the one that is needed.
    const struct kernel *kernel = kernel_with_code(TFLITE_TRANSPOSE);
    struct copy p = {
        .output = out->data,
        .input = in->data,
        .element_size = ethosu_model_type_size(out->tensor.type),
        .walk.rank = out->tensor.rank,
    };
    int32_t from[ETHOSU_MODEL_MAX_RANK];
    int32_t to[ETHOSU_MODEL_MAX_RANK];
    get_strides(&in->tensor, from);
    get_strides(&out->tensor, to);
    for (uint32_t i = 0; i < out->tensor.rank; i++) {
        // From the innermost dimension of the output outwards: it is written in order.
        uint32_t axis = out->tensor.order[out->tensor.rank - 1 - i];
        if (out->tensor.shape[axis] != in->tensor.shape[axes[axis]]) {
            return program_refuse(program, ETHOSU_MODEL_BAD_FILE, "its shapes do not match");
        }
        p.walk.dimension[i] = (struct nd_dimension){.extent = out->tensor.shape[axis],
                                                    .stride = {to[axis], from[axes[axis]]}};
    }
    if (kernel == NULL) {
        return program_refuse(program, ETHOSU_MODEL_UNSUPPORTED,
                              "this firmware has no such operator");
    }
    nd_simplify(&p.walk);
    return kernel_add_step(program->builder, kernel, &p.call, nd_block_size(&p, &p.walk));
}

/** Both tensors: of one type, of as many dimensions, not empty. */
static int get_both(struct program_builder *program, const struct fb_vector *arguments,
                    uint32_t source, struct program_operand *in, struct program_operand *out)
{
    TRY(argument_tensor(program, arguments, source, in));
    TRY(argument_result(program, arguments, out));
    if (in->tensor.type != out->tensor.type) {
        return program_refuse(program, ETHOSU_MODEL_UNSUPPORTED, "its tensors differ in type");
    }
    return in->tensor.rank == out->tensor.rank && out->tensor.size != 0
               ? ETHOSU_MODEL_OK
               : program_refuse(program, ETHOSU_MODEL_BAD_FILE, "its shapes do not match");
}

static int prepare_same(struct program_builder *program, const struct fb_vector *arguments,
                        uint32_t source)
{
    static const int64_t same[ETHOSU_MODEL_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
    struct program_operand in;
    struct program_operand out;
    TRY(get_both(program, arguments, source, &in, &out));
    return add_walk(program, &in, &out, same);
}

int prepare_clone(struct program_builder *program, const struct fb_vector *arguments)
{
    return prepare_same(program, arguments, 0);
}

int prepare_assign(struct program_builder *program, const struct fb_vector *arguments)
{
    return prepare_same(program, arguments, 1); // behind the tensor that it writes
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
    bool right = program_get_ints(&program->program, list, rank, axes);
    for (uint32_t i = 0; i < rank && right; i++) {
        axes[i] += axes[i] < 0 ? (int64_t)rank : 0;
        right = axes[i] >= 0 && axes[i] < (int64_t)rank;
        seen |= right ? 1u << axes[i] : 0;
    }
    if (!right || seen != (1u << rank) - 1) {
        return program_refuse(program, ETHOSU_MODEL_BAD_FILE,
                              "its order does not name each dimension once");
    }
    return add_walk(program, &in, &out, axes);
}
