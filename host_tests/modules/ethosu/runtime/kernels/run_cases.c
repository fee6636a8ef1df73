// SPDX-License-Identifier: MIT
/**
 * Run many models of CPU operators in one process, under sanitizers.
 *
 *     run_cases CASES RESULTS
 *
 * CASES is a row of cases, each: bytes of model, steps, bytes of all inputs of all steps (three
 * 32-bit words), the model, the inputs. RESULTS gets for each: status, bytes, then that many bytes
 * of all outputs of all steps, or of a message when the status is not 0.
 */
#include "ethosu_model.h"
#include "sim_host.h"

#include <sanitizer/asan_interface.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct case_header {
    uint32_t model_size;
    uint32_t steps;
    uint32_t input_size;
};

/** Memory that is protected by sanitizers after its last byte. */
static void *take(size_t size)
{
    void *memory = malloc(size + 1);
    if (memory == NULL) {
        abort();
    }
    return memory;
}

static void put(FILE *results, int32_t status, const void *data, size_t size)
{
    uint32_t words[2] = {(uint32_t)status, (uint32_t)size};
    fwrite(words, sizeof words, 1, results);
    fwrite(data, 1, size, results);
}

/** Run all steps; returns the size of the outputs, or 0 with a status. */
static int run(struct ethosu_model *model, uint32_t steps, const uint8_t *input, uint8_t **output,
               size_t *size)
{
    const struct ethosu_model_buffer *in = ethosu_model_inputs(model);
    const struct ethosu_model_buffer *out = ethosu_model_outputs(model);
    size_t step_size = 0;
    for (uint32_t i = 0; i < ethosu_model_output_count(model); ++i) {
        step_size += out[i].size;
    }
    *output = take(step_size * steps);
    *size = 0;
    for (uint32_t step = 0; step < steps; ++step) {
        for (uint32_t i = 0; i < ethosu_model_input_count(model); ++i) {
            memcpy(in[i].data, input, in[i].size);
            input += in[i].size;
        }
        int status = ethosu_model_invoke(model, NULL);
        if (status != ETHOSU_MODEL_OK) {
            return status;
        }
        for (uint32_t i = 0; i < ethosu_model_output_count(model); ++i) {
            memcpy(*output + *size, out[i].data, out[i].size);
            *size += out[i].size;
        }
    }
    return ETHOSU_MODEL_OK;
}

static void run_case(const struct case_header *header, const uint8_t *file, const uint8_t *input,
                     FILE *results)
{
    struct ethosu_model_error error = {""};
    struct ethosu_model_source source = {.file = file, .file_size = header->model_size};
    struct ethosu_model_memory memory;
    struct ethosu_model *model;
    int status = ethosu_model_measure(&source, &memory, &error);
    if (status != ETHOSU_MODEL_OK) {
        put(results, status, error.text, strlen(error.text));
        return;
    }
    memory.object = malloc(memory.object_size);
    memory.arena = sim_host_alloc(memory.arena_size);
    memset(memory.arena, 0xA5, memory.arena_size);
    // Another model may be running in this arena: the load neither reads nor writes it.
    size_t untouched = memory.keeps_data ? 0 : memory.arena_size;
    __asan_poison_memory_region(memory.arena, untouched);
    status = ethosu_model_load(&source, &memory, &model, &error);
    __asan_unpoison_memory_region(memory.arena, untouched);
    uint8_t *output = NULL;
    size_t size = 0;
    if (status == ETHOSU_MODEL_OK) {
        status = run(model, header->steps, input, &output, &size);
    }
    if (status == ETHOSU_MODEL_OK) {
        put(results, status, output, size);
    } else {
        put(results, status, error.text, strlen(error.text));
    }
    free(output);
    free(memory.object);
    sim_host_free(memory.arena);
}

int main(int argc, char **argv)
{
    FILE *cases = argc == 3 ? fopen(argv[1], "rb") : NULL;
    FILE *results = argc == 3 ? fopen(argv[2], "wb") : NULL;
    // No case uses the NPU, but the arena must be memory that it sees.
    if (cases == NULL || results == NULL || sim_host_open(0, "ethos-u55-128") == NULL) {
        fprintf(stderr, "usage: run_cases CASES RESULTS\n");
        return 2;
    }
    struct case_header header;
    while (fread(&header, sizeof header, 1, cases) == 1) {
        uint8_t *file = take(header.model_size);
        uint8_t *input = take(header.input_size);
        if (fread(file, 1, header.model_size, cases) != header.model_size ||
            fread(input, 1, header.input_size, cases) != header.input_size) {
            return 2;
        }
        run_case(&header, file, input, results);
        free(file);
        free(input);
    }
    fclose(cases);
    return fclose(results);
}
