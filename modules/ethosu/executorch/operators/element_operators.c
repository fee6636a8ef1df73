// SPDX-License-Identifier: MIT
/**
 * cortex_m::quantized_add, quantized_mul, minimum, maximum, quantized_activation, softmax and
 * quantized_batch_matmul: int8, computed by the kernels of TensorFlow Lite's operators, whose
 * arithmetic is the same. Arguments: backends/cortex_m/ops of pytorch/executorch 1.5.
 */
#include "runtime/kernels/weighted/batch_matmul.h"
#include "driver/base/ethosu_count.h"
#include "runtime/kernels/element/binary.h"
#include "runtime/kernels/element/softmax.h"
#include "runtime/kernels/element/unary.h"
#include "executorch/build/program_operators.h"

#include <string.h>

/** Read a non-empty int8 tensor; if `index` is UINT32_MAX, the result. */
static int get_int8(struct program_builder *program, const struct fb_vector *arguments,
                    uint32_t index, struct program_operand *operand)
{
    TRY(index == UINT32_MAX ? argument_result(program, arguments, operand)
                            : argument_tensor(program, arguments, index, operand));
    return operand->tensor.type == ETHOSU_TYPE_INT8 && operand->tensor.size != 0
               ? ETHOSU_MODEL_OK
               : program_refuse(program, ETHOSU_MODEL_UNSUPPORTED, "tensors are not int8");
}

/* ---- two tensors ---- */

/** Walk over the output in the order of its bytes; an input's dimensions of size 1 are repeated. */
static bool walk_both(const struct program_operand operands[3], struct nd_walk *walk)
{
    const struct program_tensor *out = &operands[2].tensor;
    int32_t strides[3][ETHOSU_MODEL_MAX_RANK];
    walk->rank = out->rank;
    for (int k = 0; k < 3; k++) {
        program_strides(&operands[k].tensor, strides[k]);
        if (operands[k].tensor.rank > out->rank) {
            return false;
        }
    }
    for (uint32_t i = 0; i < out->rank; i++) {
        uint32_t axis = out->order[out->rank - 1 - i];
        struct nd_dimension *dimension = &walk->dimension[i];
        *dimension = (struct nd_dimension){out->shape[axis], {strides[2][axis]}};
        for (int k = 0; k < 2; k++) {
            const struct program_tensor *in = &operands[k].tensor;
            uint32_t missing = out->rank - in->rank;
            int32_t size = axis < missing ? 1 : in->shape[axis - missing];
            if (size != 1 && size != dimension->extent) {
                return false;
            }
            dimension->stride[k + 1] = size == 1 ? 0 : strides[k][axis - missing];
        }
    }
    nd_simplify(walk);
    return true;
}

/** Add the step for two tensors, arguments 0 and `second`. */
static int add_binary(struct program_builder *program, const struct fb_vector *arguments,
                      uint32_t second, uint32_t code, struct binary *p)
{
    const struct kernel *kernel;
    struct program_operand operands[3];
    TRY(get_int8(program, arguments, 0, &operands[0]));
    TRY(get_int8(program, arguments, second, &operands[1]));
    TRY(get_int8(program, arguments, UINT32_MAX, &operands[2]));
    TRY(program_kernel(program, code, &kernel));
    if (!walk_both(operands, &p->walk)) {
        return program_refuse_shapes(program);
    }
    const struct binary_rows *rows = kernel->variant;
    p->row = rows->int8;
    p->input[0] = operands[0].data;
    p->input[1] = operands[1].data;
    p->output = operands[2].data;
    p->element_size = 1;
    return kernel_add_step(program->builder, kernel, &p->call, nd_block_size(p, &p->walk));
}

int prepare_add(struct program_builder *program, const struct fb_vector *arguments)
{
    enum { SECOND = 4 };
    static const struct int_argument rows[] = {
        {1, LIMITS_NEGATED, offsetof(struct binary, offset[0])},
        SCALE_ARGUMENTS(2, struct binary, scale[0]),
        {SECOND + 1, LIMITS_NEGATED, offsetof(struct binary, offset[1])},
        SCALE_ARGUMENTS(SECOND + 2, struct binary, scale[1]),
        {8, LIMITS_INT8, offsetof(struct binary, output_offset)},
        SCALE_ARGUMENTS(9, struct binary, output_scale),
        {11, LIMITS_INT8, offsetof(struct binary, range.low)},
        {12, LIMITS_HIGH, offsetof(struct binary, range.high)},
    };
    struct binary p = {.left_shift = BINARY_ADD_SHIFT};
    TRY(argument_ints(program, arguments, rows, COUNT(rows), &p));
    return add_binary(program, arguments, SECOND, TFLITE_ADD, &p);
}

int prepare_mul(struct program_builder *program, const struct fb_vector *arguments)
{
    enum { SECOND = 2 };
    static const struct int_argument rows[] = {
        {1, LIMITS_NEGATED, offsetof(struct binary, offset[0])},
        {SECOND + 1, LIMITS_NEGATED, offsetof(struct binary, offset[1])},
        {4, LIMITS_INT8, offsetof(struct binary, output_offset)},
        SCALE_ARGUMENTS(5, struct binary, output_scale),
    };
    struct binary p = {.range = {INT8_MIN, INT8_MAX}};
    TRY(argument_ints(program, arguments, rows, COUNT(rows), &p));
    return add_binary(program, arguments, SECOND, TFLITE_MUL, &p);
}

int prepare_minimum(struct program_builder *program, const struct fb_vector *arguments)
{
    struct binary p = {0};
    return add_binary(program, arguments, 1, TFLITE_MINIMUM, &p);
}

int prepare_maximum(struct program_builder *program, const struct fb_vector *arguments)
{
    struct binary p = {0};
    return add_binary(program, arguments, 1, TFLITE_MAXIMUM, &p);
}

/* ---- one tensor ---- */

/** Do two tensors have the same shape and byte order? */
static bool is_alike(const struct program_tensor *a, const struct program_tensor *b)
{
    int32_t strides[2][ETHOSU_MODEL_MAX_RANK];
    bool right = a->rank == b->rank;
    program_strides(a, strides[0]);
    program_strides(b, strides[1]);
    for (uint32_t i = 0; i < a->rank && right; i++) {
        right = a->shape[i] == b->shape[i] && (a->shape[i] == 1 || strides[0][i] == strides[1][i]);
    }
    return right;
}

/** The results are a table that starts with the one for -128. */
int prepare_activation(struct program_builder *program, const struct fb_vector *arguments)
{
    struct unary_block block = {.unary.table = true};
    const struct kernel *kernel; // any of its family: only its function is needed
    struct program_operand in;
    struct program_operand table;
    struct program_operand out;
    TRY(get_int8(program, arguments, 0, &in));
    TRY(get_int8(program, arguments, 1, &table));
    TRY(get_int8(program, arguments, UINT32_MAX, &out));
    TRY(program_kernel(program, TFLITE_LOGISTIC, &kernel));
    if (!is_alike(&in.tensor, &out.tensor)) {
        return program_refuse_shapes(program);
    }
    if (table.tensor.buffer != 0 || table.tensor.size != sizeof block.table) {
        return program_refuse(program, ETHOSU_MODEL_BAD_FILE, "table is not 256 constant values");
    }
    for (uint32_t i = 0; i < sizeof block.table; i++) {
        block.table[i ^ 0x80] = ((const uint8_t *)table.data)[i];
    }
    block.unary.input = in.data;
    block.unary.output = out.data;
    block.unary.count = (int32_t)in.tensor.size;
    return kernel_add_step(program->builder, kernel, &block.unary.call, sizeof block);
}

int prepare_softmax(struct program_builder *program, const struct fb_vector *arguments)
{
    enum { AXIS = 1, OUT_ZERO = 3, SCALE, MIN_DIFFERENCE = 6 };
    const struct kernel *kernel;
    struct program_operand in;
    struct program_operand out;
    struct softmax p = {0};
    int32_t axis;
    int32_t zero;
    int32_t strides[ETHOSU_MODEL_MAX_RANK];
    TRY(get_int8(program, arguments, 0, &in));
    TRY(get_int8(program, arguments, UINT32_MAX, &out));
    TRY(program_kernel(program, TFLITE_SOFTMAX, &kernel));
    int32_t rank = (int32_t)in.tensor.rank;
    TRY(argument_int(program, arguments, AXIS, -rank, rank - 1, &axis));
    TRY(argument_int(program, arguments, OUT_ZERO, INT8_MIN, INT8_MIN, &zero));
    TRY(argument_int(program, arguments, SCALE, 0, INT32_MAX, &p.scale.multiplier));
    TRY(argument_int(program, arguments, SCALE + 1, 0, 30, &p.scale.shift));
    TRY(argument_int(program, arguments, MIN_DIFFERENCE, softmax_min_difference(p.scale.shift), 0,
                     &p.min_difference));
    axis += axis < 0 ? rank : 0;
    p.depth = in.tensor.shape[axis];
    program_strides(&in.tensor, strides);
    if (!is_alike(&in.tensor, &out.tensor) || (p.depth != 1 && strides[axis] != 1)) {
        return program_refuse(program, ETHOSU_MODEL_UNSUPPORTED,
                              "dimension is not the innermost one");
    }
    p.input = in.data;
    p.output = out.data;
    p.rows = (int32_t)in.tensor.size / p.depth;
    return program_add_kernel(program, kernel, &p.call, sizeof p, NULL);
}

/* ---- matrices ---- */

/** The second matrix of each pair is transposed. */
int prepare_batch_matmul(struct program_builder *program, const struct fb_vector *arguments)
{
    enum { SECOND = 2 };
    static const struct int_argument rows[] = {
        {1, LIMITS_OFFSET, offsetof(struct matmul, x.offset)}, // values to add
        {SECOND + 1, LIMITS_OFFSET, offsetof(struct matmul, y.offset)},
        {4, LIMITS_INT8, offsetof(struct matmul, output_offset)},
        SCALE_ARGUMENTS(5, struct matmul, scale),
    };
    const struct kernel *kernel;
    struct program_operand operands[3];
    struct matmul p = {.type = ETHOSU_TYPE_INT8, .range = {INT8_MIN, INT8_MAX}};
    TRY(get_int8(program, arguments, 0, &operands[0]));
    TRY(get_int8(program, arguments, SECOND, &operands[1]));
    TRY(get_int8(program, arguments, UINT32_MAX, &operands[2]));
    TRY(program_kernel(program, TFLITE_BATCH_MATMUL, &kernel));
    TRY(argument_ints(program, arguments, rows, COUNT(rows), &p));
    const int32_t *x = operands[0].tensor.shape;
    const int32_t *y = operands[1].tensor.shape;
    const int32_t *out = operands[2].tensor.shape;
    bool right = true;
    for (int i = 0; i < 3; i++) {
        right = right && operands[i].tensor.rank == 3 && program_is_in_order(&operands[i].tensor);
    }
    if (!right || x[0] != y[0] || x[0] != out[0] || x[2] != y[2] || x[1] != out[1] ||
        y[1] != out[2]) {
        return program_refuse_shapes(program);
    }
    p.rows = x[1];
    p.columns = y[1];
    p.depth = x[2];
    p.x.row = p.y.row = p.depth;
    p.x.step = p.y.step = 1;
    p.x.data = operands[0].data;
    p.y.data = operands[1].data;
    p.output = operands[2].data;
    p.walk.rank = 1;
    p.walk.dimension[0] =
        (struct nd_dimension){x[0], {p.rows * p.columns, p.rows * p.depth, p.columns * p.depth}};
    return kernel_add_step(program->builder, kernel, &p.call, nd_block_size(&p, &p.walk));
}
