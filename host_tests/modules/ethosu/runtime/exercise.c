// SPDX-License-Identifier: MIT
/** See exercise.h. Sanitizers detect errors, because all blocks have their exact size. */
#include "exercise.h"

#include <sanitizer/asan_interface.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Models with a larger arena are measured, but not loaded. */
#define MAX_MEMORY (64u << 20)

static size_t round_up(size_t size)
{
    return (size + 31) & ~(size_t)31;
}

/**
 * Without an NPU, a model with NPU operators is rejected; its info() names the NPU that it needs.
 */
static void check_without_npu(struct ethosu_model *model, const struct ethosu_model_info *info)
{
    uint32_t length;
    ethosu_model_operator_at(model, 0, &length);
    bool refused = info->npu_calls != 0 || info->npu_init_calls != 0;
    if (info->cpu_steps == 0 &&
        ethosu_model_invoke(model, NULL) != (refused ? ETHOSU_MODEL_NO_NPU : ETHOSU_MODEL_OK)) {
        abort();
    }
}

static void read_name(void *sum, const char *name, uint32_t length)
{
    *(uint8_t *)sum += length == 0 ? 0 : (uint8_t)name[length - 1];
}

/** Read the description of its methods: each text and tensor to its last byte. */
static void read_methods(const struct ethosu_model *model)
{
    struct ethosu_model_method method;
    struct ethosu_model_constant constant;
    struct ethosu_model_program program;
    uint8_t sum = 0;
    for (uint32_t i = 0; i < 300 && ethosu_model_get_method(model, i, &method); ++i) {
        sum += method.name_length == 0 ? 0 : (uint8_t)method.name[method.name_length - 1];
        for (uint32_t j = 0; j < 30; ++j) {
            if (ethosu_model_get_constant(model, i, j, &constant) && constant.size != 0) {
                sum += ((const uint8_t *)constant.data)[constant.size - 1];
            }
        }
    }
    ethosu_model_get_program(model, &program, read_name, &sum);
    volatile uint8_t used = sum;
    (void)used;
}

void exercise_model(struct ethosu_model *model)
{
    struct ethosu_model_info info;
    ethosu_model_get_info(model, &info);
    read_methods(model);
    for (uint32_t i = 0; i <= info.values && i < 300; ++i) {
        struct ethosu_model_tensor tensor;
        float scale;
        int32_t zero_point;
        if (ethosu_model_get_tensor(model, i, &tensor) && tensor.channels > 0) {
            ethosu_model_get_channel(model, i, tensor.channels - 1, &scale, &zero_point);
            ethosu_model_get_channel(model, i, tensor.channels, &scale, &zero_point);
        }
    }
    const struct ethosu_model_buffer *inputs = ethosu_model_inputs(model);
    for (uint32_t i = 0; i < info.inputs; ++i) {
        memset(inputs[i].data, 0x55, inputs[i].size);
    }
    const struct ethosu_model_buffer *outputs = ethosu_model_outputs(model);
    for (uint32_t i = 0; i < info.outputs; ++i) {
        memset(outputs[i].data, 0xAA, outputs[i].size);
    }
    ethosu_model_reset(model);
    check_without_npu(model, &info);
}

int exercise_load(const struct ethosu_model_source *source,
                  const struct ethosu_model_memory *memory, struct ethosu_model **model,
                  struct ethosu_model_error *error)
{
    size_t untouched = memory->keeps_data ? 0 : memory->arena_size;
    __asan_poison_memory_region(memory->arena, untouched);
    int status = ethosu_model_load(source, memory, model, error);
    __asan_unpoison_memory_region(memory->arena, untouched);
    return status;
}

static void use_memory(struct ethosu_model_memory *memory, void *given)
{
    *memory = *(const struct ethosu_model_memory *)given;
}

/** The names of a file's first signatures. */
struct names {
    char text[4][32];
    uint32_t count;
};

static void read_names(const struct ethosu_model *model, struct names *names)
{
    struct ethosu_model_method method;
    for (uint32_t i = 0; i < 4 && ethosu_model_get_method(model, i, &method); ++i) {
        (void)snprintf(names->text[names->count++], sizeof names->text[0], "%.*s",
                       (int)method.name_length, method.name);
    }
}

static int exercise_source(struct ethosu_model_source source, struct names *names,
                           struct ethosu_model_error *error)
{
    struct ethosu_model_memory memory;
    int status = ethosu_model_measure(&source, &memory, error);
    if (status != ETHOSU_MODEL_OK || memory.arena_size > MAX_MEMORY ||
        memory.object_size > MAX_MEMORY) {
        return status;
    }
    memory.object = malloc(memory.object_size);
    memory.arena = aligned_alloc(32, round_up(memory.arena_size + 1));
    struct ethosu_model *model;
    status = exercise_load(&source, &memory, &model, error);
    // What measuring has read of a malformed file must not change what loading makes of it.
    if (ethosu_model_create(&source, use_memory, &memory, &model, error) != status) {
        abort();
    }
    if (status == ETHOSU_MODEL_OK) {
        read_names(model, names);
        exercise_model(model);
    }
    free(memory.object);
    free(memory.arena);
    return status;
}

int exercise(const void *file, size_t size, struct ethosu_model_error *error)
{
    struct ethosu_model_source source = {.file = file, .file_size = size};
    struct names names = {.count = 0};
    struct names ignored = {.count = 0};
    struct ethosu_model_error other;
    int status = exercise_source(source, &names, error);
    bool tflite = ethosu_file_kind_of(file, size)->number == ETHOSU_FILE_TFLITE;
    for (uint32_t i = 0; i < names.count && tflite; ++i) {
        source.method = names.text[i];
        ignored.count = 0;
        exercise_source(source, &ignored, &other);
    }
    return status;
}
