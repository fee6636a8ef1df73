// SPDX-License-Identifier: MIT
/** Builds the steps of a method of an ExecuTorch program. See program_builder.h. */
#include "executorch/build/program_builder.h"

#include "runtime/file/checked.h"
#include "executorch/format.h"
#include "runtime/build/npu_call.h"

#include <stddef.h>
#include <string.h>

/* ---- memory ---- */

/** Reserve the planned buffers. */
static int reserve_buffers(struct program_builder *program)
{
    struct program *file = &program->program;
    for (uint32_t i = 1; i < file->method.buffer_sizes.count; i++) {
        uint64_t size = fb_u64_at(&file->fb, &file->method.buffer_sizes, i);
        if (size > INT32_MAX) {
            return error_set(program->builder->error, ETHOSU_MODEL_BAD_FILE,
                             "planned buffer %u exceeds 2 GB", (unsigned)i);
        }
        TRY(build_reserve(program->builder, (uint32_t)size, &program->buffers[i - 1]));
    }
    return ETHOSU_MODEL_OK;
}

/** Reserve the delegates' shared regions on separate cache lines, because the NPU writes them. */
static int reserve_regions(struct program_builder *program)
{
    for (unsigned region = REGION_SCRATCH; region < REGIONS; region++) {
        uint32_t size = program->region_sizes[region];
        bool other = region == REGION_FAST_SCRATCH && npu_has_fast_memory(program->builder);
        TRY(size == 0 || other
                ? ETHOSU_MODEL_OK
                : build_reserve_lines(program->builder, size, &program->regions[region]));
    }
    return ETHOSU_MODEL_OK;
}

/* ---- instructions ---- */

static int measure_delegates(struct program_builder *program)
{
    for (uint32_t i = 0; i < program->program.instructions.count; i++) {
        const struct program_instruction *call = program_get_instruction(&program->program, i);
        TRY(build_work(program->builder, 1));
        if (call == NULL) {
            return program_refuse_damage(program);
        }
        if (call->type == PROGRAM_DELEGATE_CALL) {
            TRY(delegate_measure(program, i, call));
        }
    }
    return ETHOSU_MODEL_OK;
}

static int build_instruction(struct program_builder *program, uint32_t index)
{
    struct program_instruction *call = program_get_instruction(&program->program, index);
    program->instruction = index;
    program->builder->operator_index = index;
    control_resolve_jumps(program, index);
    TRY(build_work(program->builder, WORK_OF_OPERATOR));
    if (call == NULL) {
        return program_refuse_damage(program);
    }
    switch (call->type) {
    case PROGRAM_KERNEL_CALL:
        return program_operator(program, call);
    case PROGRAM_DELEGATE_CALL:
        return delegate_build(program, index, call);
    case PROGRAM_MOVE_CALL:
        return control_move(program, call);
    case PROGRAM_JUMP_FALSE_CALL:
        return control_jump(program, call);
    case PROGRAM_FREE_CALL:
        return ETHOSU_MODEL_OK; // planned memory is not freed
    default:
        return program_refuse(program, ETHOSU_MODEL_UNSUPPORTED, "unsupported instruction");
    }
}

/* ---- inputs and outputs ---- */

/** Record an input or output; a constant output gets memory of its own. */
static int build_buffer(struct program_builder *program, uint32_t value, bool is_output,
                        struct ethosu_model_buffer *buffer)
{
    const struct program_tensor *tensor;
    uint32_t offset;
    void *data;
    TRY(program_tensor(program, value, &tensor));
    if (value > UINT16_MAX) {
        return error_set(program->builder->error, ETHOSU_MODEL_UNSUPPORTED,
                         "value %u, an input or output: expected at most 65535", (unsigned)value);
    }
    if (tensor->buffer != 0) {
        TRY(program_locate(program, value, tensor, &offset, &data));
    } else if (is_output) {
        TRY(build_reserve(program->builder, tensor->size, &offset));
        TRY(build_address(program->builder, offset, tensor->size, &data));
        program->builder->constant_outputs = true;
    } else {
        return error_set(program->builder->error, ETHOSU_MODEL_BAD_FILE,
                         "value %u, an input, is constant", (unsigned)value);
    }
    if (buffer != NULL) {
        *buffer = (struct ethosu_model_buffer){data, tensor->size, (uint16_t)value,
                                               (uint16_t)tensor->type};
    }
    return ETHOSU_MODEL_OK;
}

/**
 * Is it an input without memory? An exported program still lists the numbers and None that it was
 * called with, but has their values in its instructions. Runtimes ignore them: ExecuTorch's
 * Method::set_input() accepts only the value in the file.
 */
static bool is_fixed(struct program *file, uint32_t value)
{
    enum program_value_type type = program_get_type(file, value);
    return type == PROGRAM_NULL || type == PROGRAM_INT || type == PROGRAM_BOOL ||
           type == PROGRAM_DOUBLE || type == PROGRAM_STRING;
}

static int build_io(struct program_builder *program)
{
    struct program *file = &program->program;
    const uint32_t inputs = file->method.inputs.count;
    const uint32_t outputs = file->method.outputs.count;
    uint32_t tensors = 0;
    struct ethosu_model_buffer *next;
    if (inputs + outputs > PROGRAM_MAX_IO) { // no overflow, because both lists are in the file
        return error_set(program->builder->error, ETHOSU_MODEL_UNSUPPORTED,
                         "%u inputs and %u outputs, expected at most %u together", (unsigned)inputs,
                         (unsigned)outputs, PROGRAM_MAX_IO);
    }
    for (uint32_t i = 0; i < inputs; i++) {
        const struct program_tensor *tensor; // is read again below, usually from the cache
        uint32_t value = fb_known_u32(&file->fb, file->method.inputs.position + 4 * i);
        tensors += program_get_tensor(file, value, &tensor) == PROGRAM_TENSOR_OK;
    }
    TRY(build_counts(program->builder, tensors, outputs, &next));
    for (uint32_t i = 0; i < inputs + outputs; i++) {
        const struct fb_vector *list = i < inputs ? &file->method.inputs : &file->method.outputs;
        uint32_t at = list->position + 4 * (i < inputs ? i : i - inputs);
        uint32_t value = fb_known_u32(&file->fb, at);
        if (tensors != inputs && i < inputs && is_fixed(file, value)) {
            continue;
        }
        TRY(build_buffer(program, value, i >= inputs, next));
        next = next == NULL ? NULL : next + 1;
    }
    return ETHOSU_MODEL_OK;
}

/** Copy the constant outputs in each inference: the caller may write to their memory. */
static int copy_constants(struct program_builder *program)
{
    struct builder *builder = program->builder;
    const struct fb_vector *outputs = &program->program.method.outputs;
    const struct ethosu_model_buffer *buffers = model_buffers(builder->model);
    buffers += builder->model->inputs;
    for (uint32_t i = 0; i < outputs->count && builder->constant_outputs; i++) {
        const struct program_tensor *tensor;
        struct step step = {.run = step_copy};
        TRY(program_tensor(program, fb_u32_at(&program->program.fb, outputs, i), &tensor));
        if (tensor->buffer != 0) {
            continue;
        }
        if (builder->loading && buffers[i].size != tensor->size) {
            return program_refuse_damage(program); // the file has changed
        }
        step.copy.destination = builder->loading ? buffers[i].data : NULL;
        step.copy.source = tensor->data;
        step.copy.size = tensor->size;
        TRY(build_step(builder, &step));
    }
    return ETHOSU_MODEL_OK;
}

/* ---- state ---- */

/** Give a planned tensor its initial value. */
static int build_initial(struct program_builder *program, uint32_t value)
{
    struct program_operand operand;
    const struct program_tensor *tensor;
    if (program_get_tensor(&program->program, value, &tensor) != PROGRAM_TENSOR_OK ||
        tensor->buffer == 0 || tensor->data == NULL) {
        program->program.fb.bad = false; // the user of the value rejects it
        return ETHOSU_MODEL_OK;
    }
    TRY(program_operand(program, value, &operand));
    struct step step = {.run = step_copy};
    step.copy.destination = operand.data;
    step.copy.source = operand.tensor.data;
    step.copy.size = operand.tensor.size;
    return build_init_step(program->builder, &step);
}

/**
 * A program keeps state in tensors that it reads before writing them. They start with the file's
 * values, or with zeros where ExecuTorch leaves memory uninitialised.
 */
static int build_state(struct program_builder *program)
{
    struct program *file = &program->program;
    if (!program->keeps_state) {
        return ETHOSU_MODEL_OK;
    }
    for (uint32_t i = 1; i < file->method.buffer_sizes.count; i++) {
        uint32_t size = (uint32_t)fb_u64_at(&file->fb, &file->method.buffer_sizes, i);
        TRY(build_fill(program->builder, program->buffers[i - 1], size, 0));
    }
    for (uint32_t i = 0; i < file->method.values.count; i++) {
        TRY(build_work(program->builder, 1));
        TRY(build_initial(program, i));
    }
    return ETHOSU_MODEL_OK;
}

/* ---- the program ---- */

static int open_program(struct program_builder *program, const struct ethosu_model_source *source)
{
    struct program *file = &program->program;
    const char *name = source->method == NULL ? "forward" : source->method;
    if (!program_open(file, source->file, (uint32_t)source->file_size)) {
        return program_refuse_damage(program);
    }
    if (file->root.methods.count > PROGRAM_MAX_METHODS) {
        return error_set(program->builder->error, ETHOSU_MODEL_UNSUPPORTED,
                         "the program has %u methods, expected at most %u",
                         (unsigned)file->root.methods.count, PROGRAM_MAX_METHODS);
    }
    uint32_t method = program_find_method(file, name);
    if (method == UINT32_MAX) {
        return error_set(program->builder->error, ETHOSU_MODEL_BAD_FILE,
                         "the program has no method %s, but %u others", name,
                         (unsigned)file->root.methods.count);
    }
    program->builder->model->method = (uint8_t)method;
    if (!program_choose(file, method)) {
        return file->fb.bad ? program_refuse_damage(program)
                            : error_set(program->builder->error, ETHOSU_MODEL_UNSUPPORTED,
                                        "method %s has more than one chain of instructions", name);
    }
    if (file->method.buffer_sizes.count > PROGRAM_MAX_BUFFERS + 1) {
        return error_set(program->builder->error, ETHOSU_MODEL_UNSUPPORTED,
                         "%u planned buffers, expected at most %u",
                         (unsigned)file->method.buffer_sizes.count - 1, PROGRAM_MAX_BUFFERS);
    }
    return ETHOSU_MODEL_OK;
}

static int build(struct builder *builder, const struct ethosu_model_source *source)
{
    struct program_builder program;
    memset(&program, 0, offsetof(struct program_builder, opened));
    program.opened.instruction = program.instruction = 0;
    program.builder = builder;
    builder->program = &program;
    if (source->data_size > INT32_MAX) {
        return error_set(builder->error, ETHOSU_MODEL_BAD_FILE, "data file is larger than 2 GB");
    }
    program.data_file = (struct program_bytes){source->data, (uint32_t)source->data_size};
    TRY(open_program(&program, source));
    TRY(measure_delegates(&program));
    TRY(tensor_usage_read(&program));
    TRY(reserve_regions(&program));
    TRY(reserve_buffers(&program));
    TRY(build_io(&program));
    for (uint32_t i = 0; i < program.program.instructions.count; i++) {
        TRY(build_instruction(&program, i));
    }
    control_resolve_jumps(&program, program.program.instructions.count);
    TRY(copy_constants(&program));
    return build_state(&program);
}

const struct model_format program_format = {
    .build = build,
    .refuse = program_refuse_named,
    .has_methods = true,
};
