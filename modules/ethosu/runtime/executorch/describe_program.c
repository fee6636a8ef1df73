// SPDX-License-Identifier: MIT
/** Facts about an ExecuTorch program, read again on request. */
#include "build_program.h"
#include "format.h"

#include <string.h>

/** Open the program again: it was valid when it was loaded, and each read is bounded. */
static bool open_method(const struct ethosu_model *model, struct program *program)
{
    return program_open(program, model->file, model->file_size) &&
           program_choose(program, model->method);
}

uint32_t program_count_tensors(const struct ethosu_model *model)
{
    struct program program;
    return open_method(model, &program) ? program.values.count : 0;
}

/** Position of a value in a list, UINT32_MAX if it is not there. */
static uint32_t position(struct program *program, const struct fb_vector *list, uint32_t value)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (fb_u32_at(&program->fb, list, i) == value) {
            return i;
        }
    }
    return UINT32_MAX;
}

/** The one output of a method without instructions, such as "input0_scale". */
static bool find_constant(struct program *program, const char *kind, uint32_t number,
                          const char *what, uint32_t *value)
{
    struct ethosu_model_error name;
    (error_set)(&name, 0, "%s%u_%s", kind, (unsigned)number, what); // in terse builds too
    uint32_t method = program_find_method(program, name.text, (uint32_t)strlen(name.text));
    if (method == UINT32_MAX || !program_choose(program, method) || program->outputs.count != 1) {
        return false;
    }
    *value = fb_u32_at(&program->fb, &program->outputs, 0);
    return true;
}

/**
 * Scale and zero point of a program's integer end: the methods inputN_scale and
 * inputN_zp, which ExecuTorch's passes QuantizeInputs and QuantizeOutputs add.
 */
static bool find_quantization(const struct ethosu_model *model, uint32_t index, float *scale,
                              int32_t *zero_point)
{
    struct program program;
    uint32_t value;
    double real;
    int64_t zero;
    if (!open_method(model, &program)) {
        return false;
    }
    uint32_t input = position(&program, &program.inputs, index);
    uint32_t output = position(&program, &program.outputs, index);
    const char *kind = input != UINT32_MAX ? "input" : "output";
    uint32_t number = input != UINT32_MAX ? input : output;
    if (number == UINT32_MAX || !find_constant(&program, kind, number, "scale", &value) ||
        !program_get_double(&program, value, &real) ||
        !find_constant(&program, kind, number, "zp", &value) ||
        !program_get_int(&program, value, &zero) || zero < INT32_MIN || zero > INT32_MAX) {
        return false;
    }
    *scale = (float)real;
    *zero_point = (int32_t)zero;
    return true;
}

bool program_describe(const struct ethosu_model *model, uint32_t index,
                      struct ethosu_model_tensor *tensor)
{
    struct program program;
    struct program_tensor found;
    if (!open_method(model, &program) ||
        program_get_tensor(&program, index, &found) != PROGRAM_TENSOR_OK) {
        return false;
    }
    *tensor = (struct ethosu_model_tensor){
        .name = "",
        .type = found.type,
        .size = found.size,
        .rank = found.rank,
        .data = found.buffer == 0 ? found.data : NULL,
    };
    // In the order in which the bytes lie: the shape of an array that holds them.
    for (uint32_t i = 0; i < found.rank; i++) {
        tensor->shape[i] = found.shape[found.order[i]];
    }
    const struct ethosu_model_buffer *buffers = ethosu_model_inputs(model);
    for (uint32_t i = 0; i < (uint32_t)model->inputs + model->outputs; i++) {
        tensor->data = buffers[i].tensor == index ? buffers[i].data : tensor->data;
    }
    tensor->channels = find_quantization(model, index, &tensor->scale, &tensor->zero_point) ? 1 : 0;
    return true;
}

bool program_describe_channel(const struct ethosu_model *model, uint32_t index, uint32_t channel,
                              float *scale, int32_t *zero_point)
{
    return channel == 0 && find_quantization(model, index, scale, zero_point);
}
