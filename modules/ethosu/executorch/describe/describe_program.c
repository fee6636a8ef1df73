// SPDX-License-Identifier: MIT
/** Describes an ExecuTorch program, rereading the file on request. */
#include "executorch/build/program_builder.h"
#include "executorch/format.h"

#include <string.h>

static uint32_t program_count_values(const struct ethosu_model *model)
{
    struct program program;
    return program_open_again(model, &program) ? program.method.values.count : 0;
}

/** Position of a value in a list, UINT32_MAX if not found. */
static uint32_t position(struct program *program, const struct fb_vector *list, uint32_t value)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (fb_u32_at(&program->fb, list, i) == value) {
            return i;
        }
    }
    return UINT32_MAX;
}

/** The only output of a method without instructions: "forward_input0_scale" or "input0_scale". */
static bool find_constant(struct program *program, struct program_bytes owner, const char *kind,
                          uint32_t number, const char *what, uint32_t *value)
{
    struct ethosu_model_error name;
    (error_set)(&name, 0, "%.*s_%s%u_%s", (int)owner.size, (const char *)owner.data, kind,
                (unsigned)number, what); // in terse builds too
    const char *text = name.text;
    uint32_t method = program_find_method(program, text);
    if (method == UINT32_MAX && owner.size + 1 < sizeof name.text) {
        text += owner.size + 1;
        method = program_find_method(program, text);
    }
    if (method == UINT32_MAX || !program_choose(program, method) ||
        program->method.outputs.count != 1) {
        return false;
    }
    *value = fb_u32_at(&program->fb, &program->method.outputs, 0);
    return true;
}

struct quantization {
    float scale;
    int32_t zero_point;
};

/** Read scale and zero point, which are values of the current method or of two constant ones. */
static bool read_zero_point(struct program *program, uint32_t value, int32_t *zero_point)
{
    int64_t zero;
    if (!program_get_int(program, value, &zero) || zero < INT32_MIN || zero > INT32_MAX) {
        return false;
    }
    *zero_point = (int32_t)zero;
    return true;
}

static bool read_scale(struct program *program, uint32_t value, float *scale)
{
    double real;
    if (!program_get_double(program, value, &real)) {
        return false;
    }
    *scale = (float)real;
    return true;
}

/**
 * Read the quantisation from the methods inputN_scale and inputN_zp. ExecuTorch's passes
 * QuantizeInputs and QuantizeOutputs add them, with the method's name as prefix if specified.
 */
static bool from_methods(struct program *program, struct program_bytes owner, const char *kind,
                         uint32_t number, struct quantization *quantization)
{
    uint32_t value;
    return find_constant(program, owner, kind, number, "scale", &value) &&
           read_scale(program, value, &quantization->scale) &&
           find_constant(program, owner, kind, number, "zp", &value) &&
           read_zero_point(program, value, &quantization->zero_point);
}

/** Arguments of quantize_per_tensor and dequantize_per_tensor. */
enum { ARGUMENT_INPUT = 0, ARGUMENT_SCALE = 1, ARGUMENT_ZERO_POINT = 2 };

/** Read the quantisation from a call that dequantises this input or quantises this output. */
static bool from_call(struct program *program, uint32_t instruction, uint32_t end, bool is_input,
                      struct quantization *quantization)
{
    struct fb_vector arguments;
    struct program_bytes name = program_called(program, instruction, &arguments);
    const char *ending = is_input ? "::dequantize_per_tensor" : "::quantize_per_tensor";
    if (arguments.count < ARGUMENT_ZERO_POINT + 2 || !program_ends_with(name, ending)) {
        return false;
    }
    uint32_t argument = is_input ? ARGUMENT_INPUT : arguments.count - 1;
    return fb_u32_at(&program->fb, &arguments, argument) == end &&
           read_scale(program, fb_u32_at(&program->fb, &arguments, ARGUMENT_SCALE),
                      &quantization->scale) &&
           read_zero_point(program, fb_u32_at(&program->fb, &arguments, ARGUMENT_ZERO_POINT),
                           &quantization->zero_point);
}

/** Number of instructions searched at either end of the program, to bound the time. */
#define MAX_SEARCHED 64u

static bool from_calls(struct program *program, uint32_t end, bool is_input,
                       struct quantization *quantization)
{
    uint32_t count = program->instructions.count;
    for (uint32_t i = 0; i < count && i < MAX_SEARCHED && !program->fb.bad; i++) {
        if (from_call(program, is_input ? i : count - 1 - i, end, is_input, quantization)) {
            return true;
        }
    }
    return false;
}

/** Number of buffers of a program whose scales are found, for the same purpose. */
#define MAX_WRITTEN_BACK 256u

/**
 * Number of outputs of the exporter's graph that are not outputs of the method: the new values of
 * buffers, which come first, and which the last instructions write back (ExecuTorch's
 * insert_write_back_for_buffers_pass).
 */
static uint32_t count_write_backs(struct program *program)
{
    uint32_t count = program->instructions.count;
    uint32_t found = 0;
    struct fb_vector arguments;
    while (found < count && found < MAX_WRITTEN_BACK &&
           program_is_text(program_called(program, count - 1 - found, &arguments), "aten::copy_")) {
        found++;
    }
    return found;
}

/** Find scale and zero point of an integer input or output. May change the current method. */
static bool find_quantization(struct program *program, uint32_t method, uint32_t index,
                              struct quantization *quantization)
{
    uint32_t number = position(program, &program->method.inputs, index);
    bool is_input = number != UINT32_MAX;
    if (!is_input) {
        number = position(program, &program->method.outputs, index);
        if (number == UINT32_MAX) {
            return false;
        }
        uint32_t written_back = count_write_backs(program);
        number = written_back < MAX_WRITTEN_BACK ? number + written_back : UINT32_MAX;
    }
    return from_calls(program, index, is_input, quantization) ||
           from_methods(program, program_method_name(program, method),
                        is_input ? "input" : "output", number, quantization);
}

/** Types other than integers. */
#define REAL_TYPES                                                                       \
    (1u << ETHOSU_TYPE_FLOAT32 | 1u << ETHOSU_TYPE_FLOAT16 | 1u << ETHOSU_TYPE_FLOAT64 | \
     1u << ETHOSU_TYPE_BOOL)

static bool program_describe(const struct ethosu_model *model, uint32_t index,
                             struct ethosu_model_tensor *tensor)
{
    struct program program;
    const struct program_tensor *planned;
    struct quantization quantization = {0};
    if (!program_open_again(model, &program) ||
        program_get_tensor(&program, index, &planned) != PROGRAM_TENSOR_OK) {
        return false;
    }
    *tensor = (struct ethosu_model_tensor){
        .name = "",
        .type = planned->type,
        .size = planned->size,
        .rank = planned->rank,
        .data = planned->buffer == 0 ? planned->data : NULL,
    };
    // In byte order: the shape of an array with the same bytes.
    for (uint32_t i = 0; i < planned->rank; i++) {
        tensor->shape[i] = planned->shape[planned->order[i]];
        tensor->order[i] = planned->order[i];
    }
    const struct ethosu_model_buffer *buffers = model_buffers(model);
    for (uint32_t i = 0; i < (uint32_t)model->inputs + model->outputs; i++) {
        if (buffers[i].tensor != index) {
            continue;
        }
        if (buffers[i].size != tensor->size || buffers[i].type != tensor->type) {
            return false; // the file has changed since it was loaded
        }
        tensor->data = buffers[i].data;
    }
    if (!(REAL_TYPES >> tensor->type & 1) &&
        find_quantization(&program, model->method, index, &quantization)) {
        tensor->channels = 1;
        tensor->scale = quantization.scale;
        tensor->zero_point = quantization.zero_point;
    }
    return true;
}

static bool program_describe_channel(const struct ethosu_model *model, uint32_t index,
                                     uint32_t channel, float *scale, int32_t *zero_point)
{
    struct ethosu_model_tensor tensor;
    if (channel != 0 || !program_describe(model, index, &tensor) || tensor.channels == 0) {
        return false;
    }
    *scale = tensor.scale;
    *zero_point = tensor.zero_point;
    return true;
}

const struct model_facts program_facts = {
    .count_values = program_count_values,
    .get_method = program_get_method,
    .get_tensor = program_describe,
    .get_channel = program_describe_channel,
    .get_metadata = program_get_metadata,
    .methods = &program_methods,
};
