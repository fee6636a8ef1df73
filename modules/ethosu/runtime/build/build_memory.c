// SPDX-License-Identifier: MIT
/** Memory for a plan: the model object, and the arena after Vela's tensors. See builder.h. */
#include "runtime/build/builder.h"

#include "runtime/file/checked.h"
#include "ethosu_memory.h"

#include <string.h>

/** Check that the object has `size` bytes left; while measuring there are always enough. */
static int check_object(struct builder *builder, size_t size)
{
    const struct object_memory *object = &builder->object;
    bool room = builder->loading ? size <= object->size - object->low - object->high
                                 : checked_range(object->low + object->high, size, INT32_MAX);
    return room ? ETHOSU_MODEL_OK
                : error_set(builder->error, ETHOSU_MODEL_NO_MEMORY,
                            "model object: %u bytes are too few: measure the model again",
                            (unsigned)object->size);
}

/** Take bytes of the object. */
static int take_object(struct builder *builder, size_t size, size_t *used)
{
    TRY(check_object(builder, size));
    *used += size;
    return ETHOSU_MODEL_OK;
}

int build_object_unused(struct builder *builder, size_t size, void **memory)
{
    struct object_memory *object = &builder->object;
    TRY(check_object(builder, size));
    *memory = builder->loading ? object->start + object->low : NULL;
    object->unused = object->low + object->high + size;
    return ETHOSU_MODEL_OK;
}

int build_object_front(struct builder *builder, size_t size, void **memory)
{
    struct object_memory *object = &builder->object;
    *memory = builder->loading ? object->start + object->low : NULL;
    return take_object(builder, size, &object->low);
}

int build_object_back(struct builder *builder, size_t size, void **memory)
{
    struct object_memory *object = &builder->object;
    TRY(take_object(builder, (size + 7) & ~(size_t)7, &object->high));
    *memory = builder->loading ? object->start + object->size - object->high : NULL;
    return ETHOSU_MODEL_OK;
}

int build_init_step(struct builder *builder, const struct step *step)
{
    void *memory;
    builder->filled += step->run == step_fill ? step->fill.size : step->copy.size;
    TRY(build_object_back(builder, sizeof(struct init_step), &memory));
    if (memory != NULL) {
        struct init_step *last = memory;
        *last = (struct init_step){*step, NULL};
        *builder->init_end = last;
        builder->init_end = &last->next;
    }
    return ETHOSU_MODEL_OK;
}

int build_step(struct builder *builder, const struct step *step)
{
    if (builder->graph_index != builder->main_graph && !builder->in_prologue) {
        return build_init_step(builder, step);
    }
    void *memory;
    TRY(build_object_front(builder, sizeof *step, &memory));
    if (memory != NULL) {
        memcpy(memory, step, sizeof *step);
    }
    builder->model->step_count++;
    return ETHOSU_MODEL_OK;
}

int build_copy(struct builder *builder, uint32_t offset, const void *source, uint32_t size)
{
    struct step step = {.run = builder->kernel->run};
    TRY(build_address(builder, offset, size, &step.copy.destination));
    step.copy.source = source;
    step.copy.size = size;
    return build_step(builder, &step);
}

int build_fill(struct builder *builder, uint32_t offset, uint32_t size, uint8_t value)
{
    struct step step = {.run = step_fill};
    TRY(build_address(builder, offset, size, &step.fill.destination));
    step.fill.size = size;
    step.fill.value = value;
    return build_init_step(builder, &step);
}

/* ---- memory of the arena ---- */

int build_grow_arena(struct builder *builder, uint64_t end)
{
    if (end > INT32_MAX) {
        return error_set(builder->error, ETHOSU_MODEL_BAD_FILE, "planned arena exceeds 2 GB");
    }
    if (builder->loading && end > builder->arena_limit) {
        return error_set(builder->error, ETHOSU_MODEL_NO_MEMORY,
                         "arena: %u bytes given, at least %u needed",
                         (unsigned)builder->arena_limit, (unsigned)end);
    }
    if (end > builder->model->arena_size) {
        builder->model->arena_size = (uint32_t)end;
    }
    return ETHOSU_MODEL_OK;
}

int build_address(struct builder *builder, uint32_t offset, uint32_t size, void **address)
{
    TRY(build_grow_arena(builder, (uint64_t)offset + size));
    *address = builder->loading ? builder->arena + offset : NULL;
    return ETHOSU_MODEL_OK;
}

int build_reserve(struct builder *builder, uint32_t size, uint32_t *offset)
{
    // The arena has less than 2 GB.
    checked_align(builder->model->arena_size, ETHOSU_MODEL_ALIGNMENT, offset);
    return build_grow_arena(builder, (uint64_t)*offset + size);
}

int build_reserve_lines(struct builder *builder, uint32_t size, uint32_t *offset)
{
    if (size > INT32_MAX) { // could overflow when rounded up
        return build_grow_arena(builder, size);
    }
    TRY(build_grow_arena(builder, ethosu_ext_memory_align(builder->model->arena_size)));
    return build_reserve(builder, (uint32_t)ethosu_ext_memory_align(size), offset);
}

/** Check that the arena does not overlap memory that is read while it is written. */
static int check_apart(struct builder *builder, const struct ethosu_model_memory *memory,
                       const void *other, size_t size, const char *name)
{
    uintptr_t arena = (uintptr_t)memory->arena;
    uintptr_t start = (uintptr_t)other;
    if (arena - start >= size && (size == 0 || start - arena >= memory->arena_size)) {
        return ETHOSU_MODEL_OK;
    }
    return error_set(builder->error, ETHOSU_MODEL_BAD_MEMORY,
                     "arena at 0x%x, %u bytes, overlaps the %s", (unsigned)arena,
                     (unsigned)memory->arena_size, name);
}

int build_check_arena(struct builder *builder, const struct ethosu_model_memory *memory,
                      const struct ethosu_model_source *source)
{
    uintptr_t arena = (uintptr_t)memory->arena;
    TRY(check_apart(builder, memory, source->file, source->file_size, "model file"));
    TRY(check_apart(builder, memory, source->data, source->data_size, "data file"));
    // Whole cache lines, so that the NPU's results never share one with concurrent CPU writes.
    size_t line = ethosu_ext_memory_line();
    size_t alignment = line > ETHOSU_MODEL_ALIGNMENT ? line : ETHOSU_MODEL_ALIGNMENT;
    if (arena % alignment == 0 && memory->arena_size % line == 0 &&
        ethosu_ext_memory_reaches(memory->arena, memory->arena_size,
                                  ETHOSU_NPU_READS | ETHOSU_NPU_WRITES)) {
        return ETHOSU_MODEL_OK;
    }
    return error_set(builder->error, ETHOSU_MODEL_BAD_MEMORY,
                     "arena at 0x%x, %u bytes: expected memory that the NPU can write, both ends "
                     "aligned to %u",
                     (unsigned)arena, (unsigned)memory->arena_size, (unsigned)alignment);
}

/** Can the NPU read these bytes in place? */
static bool is_visible(const void *data, uint32_t size)
{
    return ((uintptr_t)data % ETHOSU_MODEL_ALIGNMENT == 0 &&
            ethosu_ext_memory_reaches(data, size, ETHOSU_NPU_READS)) ||
           size == 0;
}

int build_payload(struct builder *builder, const void *data, uint32_t size, const void **visible)
{
    const struct ethosu_model *model = builder->model;
    if (!model->npu_reads_object) {
        return build_visible(builder, &(struct shared_block){0}, data, size, visible);
    }
    if (is_visible(data, size) && !model->file_may_change) {
        *visible = data;
        return ETHOSU_MODEL_OK;
    }
    // The end of the object is aligned for the NPU, so a copy at a multiple before it is, too.
    size_t used = builder->object.high + size, padding = -used % ETHOSU_MODEL_ALIGNMENT;
    void *copy;
    TRY(build_object_back(builder, size + padding, &copy));
    *visible = copy == NULL ? NULL : memcpy(copy, data, size);
    return ETHOSU_MODEL_OK;
}

int build_visible(struct builder *builder, struct shared_block *last, const void *data,
                  uint32_t size, const void **visible)
{
    bool is_new = last->owner != data;
    void *copy;
    *visible = data;
    if (is_visible(data, size)) {
        return ETHOSU_MODEL_OK;
    }
    if (is_new) {
        TRY(build_reserve(builder, size, &last->offset));
        last->owner = data;
        builder->model->copied_bytes += size;
        builder->model->copied_from_afar |=
            !ethosu_ext_memory_reaches(data, size, ETHOSU_NPU_READS);
    }
    TRY(build_address(builder, last->offset, size, &copy));
    *visible = is_new && copy != NULL ? memcpy(copy, data, size) : copy;
    return ETHOSU_MODEL_OK;
}
