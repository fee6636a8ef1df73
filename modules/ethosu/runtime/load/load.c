// SPDX-License-Identifier: MIT
/** Measures and loads a model: builds the steps from the file. See builder.h. */
#include "runtime/build/builder.h"

#include "ethosu_memory.h"
#include "runtime/load/formats.h"

#include <stddef.h>
#include <string.h>

/** Reject many tensors with state in the same memory, because each would be filled. */
static int check_filled(struct builder *builder)
{
    uint32_t arena = builder->model->arena_size;
    return builder->filled <= (uint64_t)FILLS * arena
               ? ETHOSU_MODEL_OK
               : error_set(builder->error, ETHOSU_MODEL_BAD_FILE,
                           "initial values fill the arena of %u bytes more than %u times",
                           (unsigned)arena, FILLS);
}

/** Initialise the builder. */
static void begin(struct builder *builder, struct ethosu_model *model,
                  struct ethosu_model_error *error)
{
    memset(builder, 0, offsetof(struct builder, file));
    builder->model = model;
    builder->error = error;
}

static int build_model(struct builder *builder, const struct ethosu_model_source *source)
{
    struct ethosu_model *model = builder->model;
    builder->driver = source->driver;
    model->file = source->file;
    model->file_size = (uint32_t)source->file_size;
    model->skip_verify = source->skip_verify;
    model->poll.stop = source->stop;
    model->poll.argument = source->argument;
    builder->work = LOAD_UNITS;
    builder->work_after = MIN_WORK + (uint64_t)WORK_PER_BYTE * source->file_size;
    model->npu_reads_object = source->npu_reads_object;
    model->file_may_change = source->file_may_change;
    TRY(formats_find(builder, source));
    TRY(model->format->build(builder, source));
    return check_filled(builder);
}

static int measure(const struct ethosu_model_source *source, struct ethosu_model_memory *memory,
                   struct ethosu_model_error *error, struct builder *builder)
{
    struct ethosu_model counts = {0};
    begin(builder, &counts, error);
    builder->cache.open = false;
    *memory = (struct ethosu_model_memory){0};
    TRY(build_model(builder, source));
    builder->file.offset_first = 0; // the first graph's again
    builder->file.fb.bad = false;
    size_t mask = (source->npu_reads_object ? ETHOSU_MODEL_ALIGNMENT : 8) - 1;
    size_t front = sizeof counts + builder->object.low;
    size_t kept = ((front + mask) & ~mask) + ((builder->object.high + mask) & ~mask);
    size_t borrowed = (sizeof counts + builder->object.unused + mask) & ~mask;
    memory->object_size = kept > borrowed ? kept : borrowed;
    memory->arena_size = ethosu_ext_memory_align(counts.arena_size);
    memory->keeps_data = builder->filled != 0 || counts.init != NULL || counts.prologue != 0 ||
                         counts.copied_bytes != 0;
    return ETHOSU_MODEL_OK;
}

int ethosu_model_measure(const struct ethosu_model_source *source,
                         struct ethosu_model_memory *memory, struct ethosu_model_error *error)
{
    struct builder builder;
    return measure(source, memory, error, &builder);
}

int ethosu_model_kernels(const struct ethosu_model_source *source,
                         struct ethosu_model_kernel *kernels, uint32_t *count,
                         struct ethosu_model_error *error)
{
    struct ethosu_model counts = {0};
    struct builder builder;
    builder.cache.open = false;
    begin(&builder, &counts, error);
    builder.kernels = kernels;
    builder.kernel_room = *count;
    int status = build_model(&builder, source);
    *count = builder.kernel_count;
    return status;
}

static int load(const struct ethosu_model_source *source, const struct ethosu_model_memory *memory,
                struct ethosu_model **model, struct ethosu_model_error *error,
                struct builder *builder)
{
    size_t alignment = source->npu_reads_object ? ETHOSU_MODEL_ALIGNMENT : 8;
    begin(builder, memory->object, error);
    builder->loading = true;
    builder->object.start = memory->object;
    builder->object.low = sizeof **model;
    builder->object.size = memory->object_size & ~(alignment - 1);
    builder->arena = memory->arena;
    builder->arena_limit = memory->arena_size;
    if (memory->object_size < sizeof **model || (uintptr_t)memory->object % alignment != 0) {
        return error_set(error, ETHOSU_MODEL_NO_MEMORY,
                         "model object: %u bytes at 0x%x, expected more than %u, aligned to %u",
                         (unsigned)memory->object_size, (unsigned)(uintptr_t)memory->object,
                         (unsigned)sizeof **model, (unsigned)alignment);
    }
    TRY(build_check_arena(builder, memory, source));
    memset(memory->object, 0, sizeof **model);
    builder->model->arena = memory->arena;
    builder->init_end = &builder->model->init;
    TRY(build_model(builder, source));
    builder->model->object_size = (uint32_t)(builder->object.low + builder->object.high);
    if (run_initialisation(builder->model) == ETHOSU_MODEL_STOPPED) {
        return build_refuse_stopped(builder);
    }
    *model = builder->model;
    return ETHOSU_MODEL_OK;
}

int ethosu_model_load(const struct ethosu_model_source *source,
                      const struct ethosu_model_memory *memory, struct ethosu_model **model,
                      struct ethosu_model_error *error)
{
    struct builder builder;
    builder.cache.open = false;
    return load(source, memory, model, error, &builder);
}

int ethosu_model_create(const struct ethosu_model_source *source,
                        void (*place)(struct ethosu_model_memory *memory, void *argument),
                        void *argument, struct ethosu_model **model,
                        struct ethosu_model_error *error)
{
    struct ethosu_model_memory memory;
    struct builder builder;
    TRY(measure(source, &memory, error, &builder));
    place(&memory, argument);
    return load(source, &memory, model, error, &builder);
}
