// SPDX-License-Identifier: MIT
/**
 * Run a compiled model on the PC (tools/sim_host), with runtime, driver and NPU simulator under
 * sanitizers; and also misuse the runtime.
 *
 *     run_model CONFIG MODEL INPUTS OUTPUTS STEPS [FAST]
 *
 * FAST: size of the driver's memory for fast scratch, by which the arena must be smaller. INPUTS
 * contains the input tensors of all steps; the outputs are written to OUTPUTS in the same order.
 * Every other step uses start and resume, every other pair of steps an NPU on its own thread.
 */
#include "ethosu_ext.h"
#include "ethosu_model.h"
#include "sim_host.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/**
 * Called by ThreadSanitizer. An eviction writes a line back even if the CPU changes it meanwhile.
 */
const char *__tsan_default_suppressions(void);

const char *__tsan_default_suppressions(void)
{
    return "race:coherence_line_write_back\n";
}

static struct ethosu_model_error error;

#define CHECK(condition)                                                                     \
    do {                                                                                     \
        if (!(condition)) {                                                                  \
            fprintf(stderr, "line %d: %s is false: %s\n", __LINE__, #condition, error.text); \
            exit(1);                                                                         \
        }                                                                                    \
    } while (0)

static void *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL);
    CHECK(fseek(file, 0, SEEK_END) == 0);
    *size = (size_t)ftell(file);
    rewind(file);
    void *data = sim_host_alloc(*size);
    CHECK(data != NULL && fread(data, 1, *size, file) == *size);
    fclose(file);
    return data;
}

/**
 * Give the driver memory for fast scratch: the arena then contains none, and another NPU needs such
 * memory too.
 */
static void use_fast_memory(struct ethosu_driver *driver, size_t size,
                            const struct ethosu_model_source *source,
                            struct ethosu_model_memory *memory)
{
    size_t before = memory->arena_size;
    driver->fast_memory = (uintptr_t)sim_host_alloc(size);
    driver->fast_memory_size = size;
    CHECK(ethosu_model_measure(source, memory, &error) == ETHOSU_MODEL_OK);
    CHECK(memory->arena_size + size <= before);
}

static void check_other_npu(struct ethosu_model *model, struct ethosu_driver *driver,
                            const char *config)
{
    struct ethosu_driver *other = sim_host_open(1, config);
    CHECK(other != NULL && ethosu_ext_reserve_this(other, 0) == 0);
    CHECK(ethosu_model_invoke(model, other) == ETHOSU_MODEL_NPU_FAILED);
    CHECK(ethosu_ext_last_error(other)->code == ETHOSU_EXT_E_FAST_MEMORY);
    CHECK(ethosu_model_invoke(model, driver) == ETHOSU_MODEL_OK);
    sim_host_close(1);
}

/** Unsuitable memory is rejected with a reason, and nothing is written outside it. */
static void check_refusals(const struct ethosu_model_source *source,
                           const struct ethosu_model_memory *good)
{
    struct ethosu_model *model;
    struct ethosu_model_memory memory = *good;
    for (size_t less = 1; less <= good->object_size; less += 7) {
        memory.object_size = good->object_size - less;
        memory.object = malloc(memory.object_size + 1);
        CHECK(ethosu_model_load(source, &memory, &model, &error) == ETHOSU_MODEL_NO_MEMORY);
        free(memory.object);
    }
    memory = *good;
    memory.arena_size -= 32; // a cache line
    CHECK(ethosu_model_load(source, &memory, &model, &error) == ETHOSU_MODEL_NO_MEMORY);
    memory = *good;
    memory.arena = (char *)memory.arena + 8;
    CHECK(ethosu_model_load(source, &memory, &model, &error) == ETHOSU_MODEL_BAD_MEMORY);
    static uint8_t invisible[16];
    memory.arena = invisible;
    CHECK(ethosu_model_load(source, &memory, &model, &error) == ETHOSU_MODEL_BAD_MEMORY);
}

/** If memory is large enough, it need not be measured first: the model reports what it used. */
static void check_unmeasured(const struct ethosu_model_source *source,
                             const struct ethosu_model_memory *measured)
{
    struct ethosu_model *model;
    struct ethosu_model_info info;
    struct ethosu_model_memory memory = {
        .object_size = 2 * measured->object_size + 3,
        .arena_size = 2 * measured->arena_size,
    };
    memory.object = malloc(memory.object_size);
    memory.arena = sim_host_alloc(memory.arena_size);
    CHECK(ethosu_model_load(source, &memory, &model, &error) == ETHOSU_MODEL_OK);
    ethosu_model_get_info(model, &info);
    CHECK(info.object_size <= measured->object_size && info.arena_size <= measured->arena_size);
    CHECK(ethosu_model_invoke(model, source->driver) == ETHOSU_MODEL_OK);
    free(memory.object);
    sim_host_free(memory.arena);
}

static int by_steps(struct ethosu_model *model, struct ethosu_driver *driver)
{
    int status = ethosu_model_start(model, driver);
    CHECK(status == ETHOSU_MODEL_PENDING);
    CHECK(ethosu_model_start(model, driver) == ETHOSU_MODEL_BUSY);
    while ((status = ethosu_model_resume(model, false)) == ETHOSU_MODEL_PENDING) {
    }
    return status;
}

/** A failure of the NPU is reported, and does not affect the next inference. */
static void check_failure(struct ethosu_model *model, struct ethosu_driver *driver)
{
    static const char *const faults[] = {"bus-error", "irq-lost", "hang", "parse-error"};
    ethosu_ext_set_timeout(driver, 20);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; ++i) {
        CHECK(sim_host_inject(0, faults[i], 1));
        CHECK(ethosu_model_invoke(model, driver) == ETHOSU_MODEL_NPU_FAILED);
        CHECK(ethosu_ext_last_error(driver)->code != ETHOSU_EXT_OK);
        sim_host_inject(0, faults[i], 0);
        CHECK(ethosu_model_invoke(model, driver) == ETHOSU_MODEL_OK);
    }
    CHECK(ethosu_model_start(model, driver) == ETHOSU_MODEL_PENDING);
    CHECK(ethosu_ext_cancel(driver) == 0);
    ethosu_model_forget(model);
    ethosu_model_reset(model);
}

static void run(struct ethosu_model *model, struct ethosu_driver *driver, FILE *inputs,
                FILE *outputs, int steps)
{
    const struct ethosu_model_buffer *in = ethosu_model_inputs(model);
    const struct ethosu_model_buffer *out = ethosu_model_outputs(model);
    ethosu_ext_set_timeout(driver, 60000); // with a thread, time is real
    for (int step = 0; step < steps; ++step) {
        for (uint32_t i = 0; i < ethosu_model_input_count(model); ++i) {
            CHECK(fread(in[i].data, 1, in[i].size, inputs) == in[i].size);
        }
        sim_host_use_thread(0, step % 4 >= 2);
        int status = step % 2 == 0 ? ethosu_model_invoke(model, driver) : by_steps(model, driver);
        CHECK(status == ETHOSU_MODEL_OK);
        for (uint32_t i = 0; i < ethosu_model_output_count(model); ++i) {
            CHECK(fwrite(out[i].data, 1, out[i].size, outputs) == out[i].size);
        }
    }
}

/** The memory that was measured and allocated before. */
static void use_memory(struct ethosu_model_memory *memory, void *argument)
{
    const struct ethosu_model_memory *given = argument;
    CHECK(memory->object_size == given->object_size && memory->arena_size == given->arena_size);
    CHECK(memory->keeps_data == given->keeps_data);
    *memory = *given;
}

int main(int argc, char **argv)
{
    CHECK(argc == 6 || argc == 7);
    struct ethosu_driver *driver = sim_host_open(0, argv[1]);
    struct ethosu_model_source source = {.driver = driver};
    struct ethosu_model_memory memory;
    struct ethosu_model *model;
    if (driver == NULL) {
        fprintf(stderr, "%s\n", sim_host_log());
        return 1;
    }
    CHECK(ethosu_ext_reserve_this(driver, 0) == 0);
    source.file = read_file(argv[2], &source.file_size);
    CHECK(ethosu_model_measure(&source, &memory, &error) == ETHOSU_MODEL_OK);
    if (argc == 7) {
        use_fast_memory(driver, (size_t)atoi(argv[6]), &source, &memory);
    }
    memory.object = malloc(memory.object_size);
    memory.arena = sim_host_alloc(memory.arena_size);
    check_refusals(&source, &memory);
    check_unmeasured(&source, &memory);
    CHECK(ethosu_model_create(&source, use_memory, &memory, &model, &error) == ETHOSU_MODEL_OK);
    if (argc == 7) {
        check_other_npu(model, driver, argv[1]);
    }
    check_failure(model, driver);

    FILE *inputs = fopen(argv[3], "rb");
    FILE *outputs = fopen(argv[4], "wb");
    CHECK(inputs != NULL && outputs != NULL);
    run(model, driver, inputs, outputs, atoi(argv[5]));
    sim_host_use_thread(0, false);
    CHECK(fclose(inputs) == 0 && fclose(outputs) == 0);

    CHECK(sim_host_damaged_guards() == 0);
    sim_host_free((void *)(uintptr_t)driver->fast_memory);
    sim_host_close(0);
    free(memory.object);
    sim_host_free(memory.arena);
    sim_host_free((void *)(uintptr_t)source.file);
    return 0;
}
