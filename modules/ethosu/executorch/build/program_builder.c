// SPDX-License-Identifier: MIT
/** What the stages share: refusals, and tensors with their memory. See program_builder.h. */
#include "executorch/build/program_builder.h"

/** Name of the operator that an instruction calls. */
static struct program_bytes name_of(struct program_builder *program)
{
    const struct program_instruction *call =
        program_get_instruction(&program->program, program->instruction);
    struct program_bytes name = {0};
    if (call != NULL && call->type == PROGRAM_KERNEL_CALL) {
        program_get_operator(&program->program, call->index, &name);
    } else if (call != NULL && call->type == PROGRAM_DELEGATE_CALL) {
        name = (struct program_bytes){(const uint8_t *)"delegate", 8};
    }
    return name;
}

int program_refuse_named(struct builder *builder, int status, const char *why)
{
    struct program_builder *program = builder->program;
    struct program_bytes name = name_of(program);
    return (error_set)(builder->error, status, "instruction %u (%.*s): %s",
                       (unsigned)program->instruction, (int)name.size, (const char *)name.data,
                       why);
}

int program_refuse(struct program_builder *program, int status, const char *why)
{
    return build_refuse(program->builder, status, why);
}

int program_refuse_damage(struct program_builder *program)
{
    const struct flatbuffer *fb = &program->program.fb;
    return error_set(program->builder->error, ETHOSU_MODEL_BAD_FILE,
                     "program is malformed or truncated at byte %u of %u", (unsigned)fb->bad_at,
                     (unsigned)program->program.file_size);
}

const char *program_tensor_problem(enum program_tensor_fault fault)
{
    static const char *const problems[] = {
        [PROGRAM_TENSOR_NONE] = "is not a tensor",
        [PROGRAM_TENSOR_MANY] = "is not a tensor",
        [PROGRAM_TENSOR_TYPE] = "has an unsupported type",
        [PROGRAM_TENSOR_DYNAMIC] = "has a dynamic shape: export it with static shapes",
        [PROGRAM_TENSOR_SHAPE] = "has more than 8 dimensions, or sizes and order conflict",
        [PROGRAM_TENSOR_DATA] = "has constant data that is not in the file",
        [PROGRAM_TENSOR_PLACE] = "exceeds its planned buffer, has none, or is misaligned in it",
        [PROGRAM_TENSOR_ALIGNMENT] = "is misaligned: load the program at a multiple of 16",
    };
    return problems[fault];
}

static int refuse_tensor(struct program_builder *program, uint32_t value,
                         enum program_tensor_fault fault)
{
    bool lacks = fault == PROGRAM_TENSOR_TYPE || fault == PROGRAM_TENSOR_DYNAMIC;
    if (program->program.fb.bad) {
        return program_refuse_damage(program);
    }
    return error_set(program->builder->error,
                     lacks ? ETHOSU_MODEL_UNSUPPORTED : ETHOSU_MODEL_BAD_FILE,
                     "value %u of instruction %u %s", (unsigned)value,
                     (unsigned)program->instruction, program_tensor_problem(fault));
}

/* ---- memory ---- */

int program_tensor(struct program_builder *program, uint32_t value,
                   const struct program_tensor **tensor)
{
    enum program_tensor_fault fault = program_get_tensor(&program->program, value, tensor);
    return fault == PROGRAM_TENSOR_OK ? ETHOSU_MODEL_OK : refuse_tensor(program, value, fault);
}

int program_locate(struct program_builder *program, uint32_t value,
                   const struct program_tensor *tensor, uint32_t *offset, void **address)
{
    *offset = program->buffers[tensor->buffer - 1] + tensor->offset;
    for (uint32_t i = 0; i < program->in_place_count; i++) {
        const struct in_place *place = &program->in_place[i];
        if (place->value == value) {
            *offset = program->regions[place->region] + place->offset;
            break;
        }
    }
    return build_address(program->builder, *offset, tensor->size, address);
}

int program_operand(struct program_builder *program, uint32_t value,
                    struct program_operand *operand)
{
    const struct program_tensor *tensor;
    TRY(program_tensor(program, value, &tensor));
    operand->tensor = *tensor;
    operand->value = value;
    if (tensor->buffer == 0) {
        operand->data = (void *)(uintptr_t)tensor->data; // never written: see the calls
        bool aligned = (uintptr_t)tensor->data % ethosu_model_type_size(tensor->type) == 0;
        return aligned ? ETHOSU_MODEL_OK : refuse_tensor(program, value, PROGRAM_TENSOR_ALIGNMENT);
    }
    return program_locate(program, value, tensor, &operand->offset, &operand->data);
}
