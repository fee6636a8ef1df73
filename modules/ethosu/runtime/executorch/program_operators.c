// SPDX-License-Identifier: MIT
/** Finds the operator that an instruction calls, and reads its arguments. */
#include "program_operators.h"

#include <string.h>

struct operator_row {
    const char *name;
    uint8_t length; /**< of the name */
    uint8_t written;
    prepare_operator prepare;
};

static const struct operator_row rows[] = {
#define PROGRAM_OPERATOR(name, written, prepare) {name, sizeof name - 1, written, prepare},
#include "operators.def"
#undef PROGRAM_OPERATOR
};

static const char nhwc_suffix[] = "_nhwc";

static const struct operator_row *find_row(struct program_builder *program,
                                           const struct program_instruction *call)
{
    struct program_bytes name;
    struct program_bytes overload;
    if (!program_get_operator(&program->program, call->index, &name, &overload)) {
        return NULL;
    }
    uint32_t suffix = sizeof nhwc_suffix - 1;
    program->explicit_nhwc =
        name.size > suffix && memcmp(name.data + name.size - suffix, nhwc_suffix, suffix) == 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        // Most names of one length differ in their last letters already.
        if (name.size == rows[i].length &&
            name.data[name.size - 1] == rows[i].name[name.size - 1] &&
            memcmp(name.data, rows[i].name, name.size) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

uint32_t program_written(struct program_builder *program, const struct program_instruction *call)
{
    const struct operator_row *row = find_row(program, call);
    return row == NULL ? 0 : row->written;
}

int program_operator(struct program_builder *program, const struct program_instruction *call)
{
    const struct operator_row *row = find_row(program, call);
    if (row == NULL) {
        return program_refuse(program, ETHOSU_MODEL_UNSUPPORTED,
                              "this firmware has no such operator");
    }
    if (call->arguments.count < row->written + 1u) {
        return program_refuse(program, ETHOSU_MODEL_BAD_FILE, "it has too few arguments");
    }
    return row->prepare(program, &call->arguments);
}

/* ---- tensors and kernels ---- */

void program_strides(const struct program_tensor *tensor, int32_t *strides)
{
    int32_t step = 1;
    for (uint32_t i = tensor->rank; i-- > 0;) {
        strides[tensor->order[i]] = step;
        step *= tensor->shape[tensor->order[i]];
    }
}

bool program_is_in_order(const struct program_tensor *tensor)
{
    int32_t strides[ETHOSU_MODEL_MAX_RANK];
    int32_t step = 1;
    bool right = true;
    program_strides(tensor, strides);
    for (uint32_t i = tensor->rank; i-- > 0;) {
        right = right && (tensor->shape[i] == 1 || strides[i] == step);
        step *= tensor->shape[i];
    }
    return right;
}

int program_kernel(struct program_builder *program, uint32_t code, const struct kernel **kernel)
{
    *kernel = kernel_with_code(code);
    return *kernel != NULL ? ETHOSU_MODEL_OK
                           : program_refuse(program, ETHOSU_MODEL_UNSUPPORTED,
                                            "this firmware has no such operator");
}

/** Scratch that the exporter planned; for an operator without any, memory of our own. */
static int get_scratch(struct program_builder *program, const struct program_operand *planned,
                       struct kernel_call *call)
{
    uint32_t needed = call->scratch_size;
    if (planned == NULL) {
        uint32_t offset;
        TRY(build_reserve(program->builder, needed, &offset));
        call->scratch = build_address(program->builder, offset);
        return ETHOSU_MODEL_OK;
    }
    const struct program_tensor *tensor = &planned->tensor;
    bool right = tensor->buffer != 0 && tensor->size >= needed &&
                 tensor->offset % ETHOSU_MODEL_ALIGNMENT == 0;
    call->scratch = planned->data;
    return right ? ETHOSU_MODEL_OK
                 : error_set(program->builder->error, ETHOSU_MODEL_BAD_FILE,
                             "instruction %u: %u bytes of scratch planned, %u aligned to 16 needed",
                             (unsigned)program->instruction, (unsigned)tensor->size,
                             (unsigned)needed);
}

int program_add_kernel(struct program_builder *program, const struct kernel *kernel,
                       struct kernel_call *block, size_t size,
                       const struct program_operand *planned)
{
    block->scratch_size = kernel->scratch == NULL ? 0 : kernel->scratch(block);
    if (block->scratch_size != 0) {
        TRY(get_scratch(program, planned, block));
    }
    return kernel_add_step(program->builder, kernel, block, size);
}

/* ---- arguments ---- */

int program_refuse_shapes(struct program_builder *program)
{
    return program_refuse(program, ETHOSU_MODEL_BAD_FILE, "its shapes do not match");
}

static int bad_argument(struct program_builder *program, uint32_t index, const char *expected)
{
    struct ethosu_model_error why;
    error_set(&why, 0, "argument %u is not %s", (unsigned)index, expected);
    return program_refuse(program, ETHOSU_MODEL_BAD_FILE, why.text);
}

int argument_int(struct program_builder *program, const struct fb_vector *arguments, uint32_t index,
                 int64_t low, int64_t high, int32_t *number)
{
    int64_t value;
    uint32_t argument = fb_u32_at(&program->program.fb, arguments, index);
    if (!program_get_int(&program->program, argument, &value) || value < low || value > high) {
        return bad_argument(program, index, "a number within its limits");
    }
    *number = (int32_t)value;
    return ETHOSU_MODEL_OK;
}

int argument_double(struct program_builder *program, const struct fb_vector *arguments,
                    uint32_t index, double *number)
{
    uint32_t argument = fb_u32_at(&program->program.fb, arguments, index);
    return program_get_double(&program->program, argument, number)
               ? ETHOSU_MODEL_OK
               : bad_argument(program, index, "a real number");
}

int argument_tensor(struct program_builder *program, const struct fb_vector *arguments,
                    uint32_t index, struct program_operand *operand)
{
    if (index >= arguments->count) {
        return program_refuse(program, ETHOSU_MODEL_BAD_FILE, "it has too few arguments");
    }
    return program_operand(program, fb_u32_at(&program->program.fb, arguments, index), operand);
}

int argument_result(struct program_builder *program, const struct fb_vector *arguments,
                    struct program_operand *operand)
{
    TRY(argument_tensor(program, arguments, arguments->count - 1, operand));
    return operand->tensor.buffer != 0 ? ETHOSU_MODEL_OK
                                       : bad_argument(program, arguments->count - 1, "planned");
}
