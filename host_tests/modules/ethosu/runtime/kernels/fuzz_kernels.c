// SPDX-License-Identifier: MIT
/**
 * libFuzzer target: load a damaged model, with its memory plan, and run it when
 * it has nothing for the NPU. Sanitizers are the judge.
 */
#include "ethosu_model.h"

#include <stdlib.h>
#include <string.h>

/** More memory than this only makes runs slower. */
#define MOST_MEMORY (16u << 10)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void run(struct ethosu_model *model)
{
    struct ethosu_model_info info;
    ethosu_model_get_info(model, &info);
    const struct ethosu_model_buffer *inputs = ethosu_model_inputs(model);
    for (uint32_t i = 0; i < info.inputs; ++i) {
        memset(inputs[i].data, 0x85, inputs[i].size);
    }
    if (info.npu_calls == 0) {
        ethosu_model_invoke(model, NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ethosu_model_error error;
    struct ethosu_model_source source = {.file = data, .file_size = size};
    struct ethosu_model_memory memory;
    struct ethosu_model *model;
    if (ethosu_model_measure(&source, &memory, &error) != ETHOSU_MODEL_OK ||
        memory.arena_size > MOST_MEMORY || memory.object_size > MOST_MEMORY) {
        return 0;
    }
    memory.object = malloc(memory.object_size);
    memory.arena = malloc(memory.arena_size);
    memset(memory.arena, 0, memory.arena_size);
    if (ethosu_model_load(&source, &memory, &model, &error) == ETHOSU_MODEL_OK) {
        run(model);
    }
    free(memory.object);
    free(memory.arena);
    return 0;
}
