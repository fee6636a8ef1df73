// SPDX-License-Identifier: MIT
/**
 * libFuzzer target: measure, load, describe and run any model file. CPU kernels run here, NPU calls
 * through the driver on the simulator. Sanitizers and guard zones detect errors.
 *
 * The simulator needs 64 bits, so a 32-bit build runs only models without NPU calls.
 *
 * An ExecuTorch program may be followed by a data file (.ptd), at a multiple of 16 bytes.
 */
#define _GNU_SOURCE
#include "runtime/build/builder.h"
#include "exercise.h"
#include "libfuzzer.h"
#include "load_npu.h"
#include "steps.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** A larger limit would only make runs slower. */
#define MAX_MEMORY (256u << 10)

/**
 * Loading is linear in the file's size. The loader allows a fixed number of units of work, plus
 * some for each byte, both when it measures and when it loads. A unit is at most about 200
 * instructions, and at most one in four of them is a comparison, which is counted here.
 */
#define STEPS_PER_UNIT (2u * 200u / 4u)
#define LOAD_STEPS (STEPS_PER_UNIT * MIN_WORK)
#define LOAD_STEPS_PER_BYTE (STEPS_PER_UNIT * WORK_PER_BYTE)

/** Comparisons after which a run of CPU kernels is stopped, like a time-out of the caller. */
#define RUN_STEPS 300000u

/**
 * One in this many of the inputs that load is run, chosen by its bytes, because a run costs as much
 * as 50 loads.
 */
#ifndef RUN_EVERY
#define RUN_EVERY 1u
#endif

static struct {
    uint64_t inputs, loaded, run, run_on_npu, cut_short, most_load_steps;
} counts;

/** The environment may allow fewer steps, so that a test can reach a limit. */
static uint64_t limit(const char *variable, uint64_t most)
{
    const char *text = getenv(variable);
    return text == NULL ? most : strtoull(text, NULL, 10);
}

static bool is_chosen(const uint8_t *data, size_t size)
{
    uint32_t hash = 0;
    for (size_t i = 0; i < size && RUN_EVERY > 1; i++) {
        hash = (hash ^ data[i]) * 16777619u;
    }
    return (hash >> 8) % RUN_EVERY == 0;
}

/** Length of the program before a data file; `size` without a data file. */
static size_t find_data(const uint8_t *file, size_t size)
{
    static const char identifier[] = "FT01FH01";
    const uint8_t *found = memmem(file, size, identifier, sizeof identifier - 1);
    size_t at = found == NULL ? 0 : (size_t)(found - file);
    return at >= 20 && at % 16 == 4 ? at - 4 : size;
}

static int load(const struct ethosu_model_source *source, struct ethosu_model_memory *memory,
                struct ethosu_model **model, struct ethosu_model_error *error)
{
    int status = ethosu_model_measure(source, memory, error);
    if (status != ETHOSU_MODEL_OK) {
        return status;
    }
    if (memory->arena_size > MAX_MEMORY || memory->object_size > MAX_MEMORY) {
        return ETHOSU_MODEL_NO_MEMORY;
    }
    memory->object = malloc(memory->object_size);
    memory->arena = load_npu_memory(memory->arena_size);
    return exercise_load(source, memory, model, error);
}

/** Look up the operator at this offset of the command stream in the file's debug table. */
static void look_up(const struct ethosu_model *model)
{
    uint32_t length = 0;
    char copy[64];
    for (uint32_t offset = 0; offset < 4096; offset += offset + 1) {
        const char *name = ethosu_model_operator_at(model, offset, &length);
        if (name != NULL) {
            memcpy(copy, name, length < sizeof copy ? length : sizeof copy);
        }
    }
}

/** Run it, or as much of it as the steps allow. */
static void run(struct ethosu_model *model)
{
    struct ethosu_model_info info;
    struct ethosu_driver *driver = NULL;
    jmp_buf escape;
    ethosu_model_get_info(model, &info);
    // npu_calls does not count what only the initialisation runs
    if (info.npu[0] != '\0' && (driver = load_npu_driver(info.npu)) == NULL) {
        return;
    }
    steps_allow(limit("RUN_STEPS", RUN_STEPS));
    if (setjmp(escape) == 0) {
        steps_escape = &escape;
        int status = ethosu_model_invoke(model, driver);
        counts.run += status == ETHOSU_MODEL_OK;
        counts.run_on_npu += status == ETHOSU_MODEL_OK && driver != NULL;
    } else {
        counts.cut_short++;
        load_npu_stop(driver);
    }
    steps_escape = NULL;
    steps_allow(UINT64_MAX);
    if (driver != NULL) {
        look_up(model);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ethosu_model_error error = {""};
    size_t file_size = find_data(data, size);
    struct ethosu_model_source source = {
        .file = load_npu_memory(file_size), .file_size = file_size, .data_size = size - file_size};
    struct ethosu_model_memory memory = {0};
    struct ethosu_model *model;
    memcpy((void *)source.file, data, file_size);
    if (source.data_size != 0) {
        source.data = load_npu_memory(source.data_size);
        memcpy((void *)source.data, data + file_size, source.data_size);
    }
    counts.inputs++;
    steps_begin();
    steps_allow(limit("LOAD_STEPS", LOAD_STEPS + LOAD_STEPS_PER_BYTE * size));
    int status = load(&source, &memory, &model, &error);
    counts.most_load_steps = steps > counts.most_load_steps ? steps : counts.most_load_steps;
    steps_allow(UINT64_MAX);
    if (status == ETHOSU_MODEL_OK) {
        counts.loaded++;
        exercise_model(model);
        if (is_chosen(data, size)) {
            run(model);
        }
    } else if (status != ETHOSU_MODEL_NO_MEMORY && error.text[0] == '\0') {
        fprintf(stderr, "refused with status %d and no reason\n", status);
        abort();
    }
    steps_allow(UINT64_MAX);
    load_npu_check();
    free(memory.object);
    load_npu_free(memory.arena);
    load_npu_free((void *)source.file);
    load_npu_free((void *)source.data);
    return 0;
}

__attribute__((destructor)) static void print_counts(void)
{
    fprintf(stderr,
            "\n{\"inputs\": %" PRIu64 ", \"loaded\": %" PRIu64 ", \"run\": %" PRIu64
            ", \"run_on_npu\": %" PRIu64 ", \"cut_short\": %" PRIu64
            ", \"most_load_steps\": %" PRIu64 "}\n",
            counts.inputs, counts.loaded, counts.run, counts.run_on_npu, counts.cut_short,
            counts.most_load_steps);
}
