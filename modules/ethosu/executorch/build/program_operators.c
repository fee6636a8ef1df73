// SPDX-License-Identifier: MIT
/** Reads the arguments of an operator, and adds the step of its kernel. */
#include "executorch/build/program_operators.h"
#include "driver/base/ethosu_count.h"

#include "driver/base/ethosu_text.h"

#include <string.h>

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
    return *kernel != NULL
               ? ETHOSU_MODEL_OK
               : program_refuse(program, ETHOSU_MODEL_UNSUPPORTED, "operator is not in this build");
}

int program_check_apart(struct program_builder *program, const struct program_operand *from,
                        const struct program_operand *to)
{
    uint32_t from_size = from->tensor.size;
    uint32_t to_size = to->tensor.size;
    bool same = from->offset == to->offset && from_size == to_size;
    return from->tensor.buffer == 0 || same || from->offset >= to->offset + to_size ||
                   to->offset >= from->offset + from_size
               ? ETHOSU_MODEL_OK
               : program_refuse(program, ETHOSU_MODEL_BAD_FILE, "an input overlaps an output");
}

/** Get the scratch planned by the exporter, or reserve our own for operators without. */
static int get_scratch(struct program_builder *program, const struct program_operand *planned,
                       struct kernel_call *call)
{
    uint32_t needed = call->scratch_size;
    if (planned == NULL) {
        uint32_t offset;
        TRY(build_reserve(program->builder, needed, &offset));
        return build_address(program->builder, offset, needed, &call->scratch);
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

/** Append the shape of a tensor, or of each tensor of a list; nothing for other values. */
static void add_shapes(struct program *file, uint32_t value, unsigned lists,
                       struct ethosu_text *out)
{
    const struct program_tensor *tensor;
    struct fb_vector list;
    if (lists != 0 && program_get_tensors(file, value, &list)) {
        for (uint32_t i = 0; i < list.count && i < ETHOSU_MODEL_MAX_RANK; i++) {
            add_shapes(file, fb_u32_at(&file->fb, &list, i), lists - 1, out);
        }
    } else if (program_get_tensor(file, value, &tensor) == PROGRAM_TENSOR_OK) {
        for (uint32_t i = 0; i < tensor->rank; i++) {
            ethosu_ext_text_print(out, "%s%u", i == 0 ? " " : "x", (unsigned)tensor->shape[i]);
        }
    }
}

int program_refuse_shapes(struct program_builder *program)
{
    struct program *file = &program->program;
    const struct program_instruction *call = program_get_instruction(file, program->instruction);
    char text[128];
    struct ethosu_text out = {text, sizeof text, 0};
    ethosu_ext_text_print(&out, "shapes do not match:");
    if (call != NULL) {
        // The result is listed twice.
        for (uint32_t i = 0; i + 1 < call->arguments.count && i < 2 * ETHOSU_MODEL_MAX_RANK; i++) {
            add_shapes(file, fb_u32_at(&file->fb, &call->arguments, i), 1, &out);
        }
    }
    ethosu_ext_text_end(&out);
    return program_refuse(program, ETHOSU_MODEL_BAD_FILE, text);
}

/** Reject an argument: "argument 4 is a tensor, expected an Int". */
static int bad_argument(struct program_builder *program, const struct fb_vector *arguments,
                        uint32_t index, const char *expected)
{
    static const char *const kinds[] = {"nothing",  "Null",     "an Int",  "a Bool",
                                        "a Double", "a tensor", "a String"};
    struct ethosu_model_error why;
    uint32_t type =
        program_get_type(&program->program, fb_u32_at(&program->program.fb, arguments, index));
    error_set(&why, 0, "argument %u is %s, expected %s", (unsigned)index,
              type < COUNT(kinds) ? kinds[type] : "a list", expected);
    return program_refuse(program, ETHOSU_MODEL_BAD_FILE, why.text);
}

/** Clamp 64 bits to 32. */
static int32_t saturate_32(int64_t number)
{
    return (int32_t)(number > INT32_MAX ? INT32_MAX : number < INT32_MIN ? INT32_MIN : number);
}

int argument_int(struct program_builder *program, const struct fb_vector *arguments, uint32_t index,
                 int32_t low, int32_t high, int32_t *number)
{
    int64_t value;
    uint32_t argument = fb_u32_at(&program->program.fb, arguments, index);
    if (!program_get_int(&program->program, argument, &value)) {
        return bad_argument(program, arguments, index, "an Int");
    }
    if (value < low || value > high) {
        struct ethosu_model_error why;
        error_set(&why, 0, "argument %u is %d%s, expected %d to %d", (unsigned)index,
                  (int)saturate_32(value), saturate_32(value) == value ? "" : " or beyond",
                  (int)low, (int)high);
        return program_refuse(program, ETHOSU_MODEL_BAD_FILE, why.text);
    }
    *number = (int32_t)value;
    return ETHOSU_MODEL_OK;
}

int argument_ints(struct program_builder *program, const struct fb_vector *arguments,
                  const struct int_argument *table, uint32_t count, void *block)
{
    static const int32_t limits[][2] = {
        [LIMITS_INT8] = {INT8_MIN, INT8_MAX},     [LIMITS_NEGATED] = {INT8_MIN, INT8_MAX},
        [LIMITS_OFFSET] = {-INT8_MAX, -INT8_MIN}, [LIMITS_HIGH] = {0, INT8_MAX},
        [LIMITS_MULTIPLIER] = {0, INT32_MAX},     [LIMITS_SHIFT] = {-31, 30},
    };
    for (uint32_t i = 0; i < count; i++) {
        const struct int_argument *row = &table[i];
        int32_t *number = (int32_t *)((uint8_t *)block + row->at);
        int32_t low = row->limits == LIMITS_HIGH ? number[-1] : limits[row->limits][0];
        TRY(argument_int(program, arguments, row->index, low, limits[row->limits][1], number));
        *number = row->limits == LIMITS_NEGATED ? -*number : *number;
    }
    return ETHOSU_MODEL_OK;
}

int argument_double(struct program_builder *program, const struct fb_vector *arguments,
                    uint32_t index, double *number)
{
    uint32_t argument = fb_u32_at(&program->program.fb, arguments, index);
    return program_get_double(&program->program, argument, number)
               ? ETHOSU_MODEL_OK
               : bad_argument(program, arguments, index, "a Double");
}

int argument_tensor(struct program_builder *program, const struct fb_vector *arguments,
                    uint32_t index, struct program_operand *operand)
{
    if (index >= arguments->count) {
        return program_refuse(program, ETHOSU_MODEL_BAD_FILE, "too few arguments");
    }
    return program_operand(program, fb_u32_at(&program->program.fb, arguments, index), operand);
}

int argument_result(struct program_builder *program, const struct fb_vector *arguments,
                    struct program_operand *operand)
{
    TRY(argument_tensor(program, arguments, arguments->count - 1, operand));
    return operand->tensor.buffer != 0 ? ETHOSU_MODEL_OK
                                       : bad_argument(program, arguments, arguments->count - 1,
                                                      "a planned one, not a constant");
}
