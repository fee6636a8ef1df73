// SPDX-License-Identifier: MIT
/** Describes the methods of an ExecuTorch program, rereading the file on request. */
#include "executorch/build/program_builder.h"
#include "driver/base/ethosu_count.h"
#include "executorch/format.h"

#include <string.h>

const void *program_get_metadata(const struct ethosu_model *model, const char *name, uint32_t *size)
{
    struct program program;
    struct program_bytes data;
    struct program_bytes key = {(const uint8_t *)name, (uint32_t)strlen(name)};
    if (!program_open_again(model, &program) || !program_get_named(&program, key, &data)) {
        return NULL;
    }
    *size = data.size;
    return data.data;
}

static bool choose(const struct ethosu_model *model, uint32_t method, struct program *program)
{
    return program_open_again(model, program) && method < program->root.methods.count &&
           program_choose(program, method);
}

bool program_get_method(const struct ethosu_model *model, uint32_t index,
                        struct ethosu_model_method *method)
{
    struct program program;
    if (!choose(model, index, &program)) {
        return false;
    }
    struct program_bytes name = program_method_name(&program, index);
    bool constant = program.instructions.count == 0 && program.method.inputs.count == 0;
    *method = (struct ethosu_model_method){(const char *)name.data, name.size,
                                           constant ? program.method.outputs.count : 0};
    return !program.fb.bad;
}

/** Read a tensor whose bytes are in the file. */
static bool get_constant_tensor(struct program *program, uint32_t value,
                                struct ethosu_model_constant *constant)
{
    const struct program_tensor *tensor;
    if (program_get_tensor(program, value, &tensor) != PROGRAM_TENSOR_OK || tensor->buffer != 0) {
        return false;
    }
    *constant = (struct ethosu_model_constant){
        .kind = ETHOSU_KIND_TENSOR,
        .type = tensor->type,
        .data = tensor->data,
        .size = tensor->size,
    };
    return true;
}

/** Values with a single field, by type: their kind for Python, and the field. */
static const struct {
    uint8_t kind; /**< enum ethosu_model_kind */
    struct fb_field field;
} kinds[] = {
    [PROGRAM_INT] = {ETHOSU_KIND_INT, FB_LONG(0)},
    [PROGRAM_BOOL] = {ETHOSU_KIND_BOOL, FB_BYTE(0)},
    [PROGRAM_DOUBLE] = {ETHOSU_KIND_DOUBLE, FB_LONG(0)},
    [PROGRAM_STRING] = {ETHOSU_KIND_TEXT, FB_BYTES(0)},
};

static bool get_constant(const struct ethosu_model *model, uint32_t method, uint32_t index,
                         struct ethosu_model_constant *constant)
{
    struct program program;
    struct fb_vector words = {0}; // as long as the longest field
    if (!choose(model, method, &program) || index >= program.method.outputs.count) {
        return false;
    }
    uint32_t number = fb_u32_at(&program.fb, &program.method.outputs, index);
    *constant = (struct ethosu_model_constant){.kind = ETHOSU_KIND_NULL};
    enum program_value_type type = program_get_type(&program, number);
    if (type == PROGRAM_TENSOR) {
        return get_constant_tensor(&program, number, constant);
    }
    if (type >= COUNT(kinds) || kinds[type].field.slot == 0) {
        return type == PROGRAM_NULL;
    }
    constant->kind = kinds[type].kind;
    if (!program_get_value(&program, number, type, kinds[type].field, &words)) {
        return false;
    }
    if (type == PROGRAM_STRING) {
        constant->data = program.fb.data + words.position;
        constant->size = words.count;
        return true;
    }
    const struct fb_long bits = {words.position, words.count};
    constant->integer = (int64_t)fb_long_value(bits); // or the bits of `real`
    return true;
}

/* ---- the loaded method ---- */

/** Values that a call of an operator quantises or dequantises. */
static uint32_t count_quantized(struct program *program, struct program_bytes name,
                                const struct fb_vector *arguments)
{
    const struct program_tensor *tensor;
    bool is_one = program_ends_with(name, "quantize_per_tensor") &&
                  program_get_tensor(program, fb_u32_at(&program->fb, arguments, 0), &tensor) ==
                      PROGRAM_TENSOR_OK;
    return is_one ? tensor->size / ethosu_model_type_size(tensor->type) : 0;
}

/** Is it an image in channels-first order? */
static bool is_nchw(struct program *program, uint32_t value)
{
    const struct program_tensor *tensor;
    if (program_get_tensor(program, value, &tensor) != PROGRAM_TENSOR_OK || tensor->rank != 4) {
        return false;
    }
    const int32_t *sizes = tensor->shape;
    return sizes[1] > 1 && (sizes[2] > 1 || sizes[3] > 1) && tensor->order[3] != 1;
}

static bool get_program(const struct ethosu_model *model, struct ethosu_model_program *facts,
                        ethosu_model_operator_t *called, void *argument)
{
    struct program program;
    struct fb_vector arguments;
    if (!program_open_again(model, &program)) {
        return false;
    }
    *facts = (struct ethosu_model_program){.method = model->method};
    for (uint32_t i = 1; i < program.method.buffer_sizes.count; i++) {
        facts->planned_size += (uint32_t)fb_u64_at(&program.fb, &program.method.buffer_sizes, i);
    }
    for (uint32_t i = 0; i < program.instructions.count && !program.fb.bad; i++) {
        const struct program_bytes name = program_called(&program, i, &arguments);
        facts->quantized += count_quantized(&program, name, &arguments);
        if (called != NULL && name.data != NULL) {
            called(argument, (const char *)name.data, name.size);
        }
    }
    for (uint32_t i = 0; i < program.method.inputs.count && !program.fb.bad; i++) {
        facts->nchw |= is_nchw(&program, fb_u32_at(&program.fb, &program.method.inputs, i));
    }
    return !program.fb.bad;
}

static uint32_t count_tensors(const struct ethosu_model *model)
{
    struct program program;
    uint32_t count = 0;
    if (!program_open_again(model, &program)) {
        return 0;
    }
    for (uint32_t i = 0; i < program.method.values.count && !program.fb.bad; i++) {
        count += program_get_type(&program, i) == PROGRAM_TENSOR;
    }
    return count;
}

const struct method_facts program_methods = {
    .get_constant = get_constant,
    .get_program = get_program,
    .count_tensors = count_tensors,
};
