// SPDX-License-Identifier: MIT
/** Arenas: which models share one, and what else uses it; see model_object.h. */
#include "binding/model/model_object.h"

#include "binding/call/arguments.h"
#include "binding/call/raise.h"
#include "binding/memory/buffers.h"
#include "binding/npu/job.h"
#include "py/gc.h"
#include "py/mperrno.h"
#include "py/runtime.h"

static model_obj_t *model_of(struct pins *pins)
{
    return (model_obj_t *)((uint8_t *)pins - offsetof(model_obj_t, pins));
}

void model_invalidate(struct pins *pins)
{
    model_of(pins)->model = NULL;
    model_of(pins)->lost = true;
}

static bool overlap(uintptr_t a, size_t a_size, uintptr_t b, size_t b_size)
{
    return a < b + b_size && b < a + a_size;
}

/** The next other model whose arena overlaps `memory`, starting at an entry; NULL at the end. */
static model_obj_t *next_overlapping(struct pins **next, const model_obj_t *self, const void *start,
                                     size_t size)
{
    while (*next != NULL) {
        struct pins *pins = *next;
        model_obj_t *other = model_of(pins);
        *next = pin_next(pins);
        if (pins->invalidate == model_invalidate && other != self && !other->lost &&
            overlap((uintptr_t)other->arena, model_arena_size(other), (uintptr_t)start, size)) {
            return other;
        }
    }
    return NULL;
}

/** The first reason why the arena can't be shared, or NULL. */
static MP_NOINLINE const char *conflicting_model(const model_obj_t *self,
                                                 const struct ethosu_model_memory *memory)
{
    struct pins *next = pin_next(NULL);
    const model_obj_t *other;
    while ((other = next_overlapping(&next, self, memory->arena, memory->arena_size)) != NULL) {
        if (memory->keeps_data) {
            return "this model";
        }
        if (other->keeps_data) {
            return "that model";
        }
    }
    return NULL;
}

/** Does a handle's job that wait() has not ended yet use this memory? */
static bool job_uses(const npu_obj_t *handle, const void *start, size_t size)
{
    const struct ethosu_ext_program *program = &handle->program;
    for (size_t i = 0; i < program->count; i++) {
        const struct ethosu_ext_base *base = &program->base[i];
        if (overlap((uintptr_t)base->cpu, base->size, (uintptr_t)start, size)) {
            return true;
        }
    }
    return false;
}

/** NPU of the user of this memory: another model being run or loaded, or a handle. */
static struct ethosu_driver *npu_using(const model_obj_t *self, const void *start, size_t size)
{
    struct pins *next = pin_next(NULL);
    const model_obj_t *other;
    while ((other = next_overlapping(&next, self, start, size)) != NULL) {
        if (other->model == NULL || model_is_busy(other)) {
            return other->npu;
        }
    }
    for (struct pins *pins = pin_next(NULL); pins != NULL; pins = pin_next(pins)) {
        const npu_obj_t *handle = (void *)((uint8_t *)pins - offsetof(npu_obj_t, pins));
        if (pins->invalidate == NULL && job_uses(handle, start, size)) {
            return handle->npu;
        }
    }
    return NULL;
}

MP_NOINLINE void model_check_arena(const model_obj_t *self, const void *start, size_t size)
{
    struct ethosu_driver *npu = npu_using(self, start, size);
    if (npu != NULL) {
        job_reap_late(npu);
        gc_collect(); // the program may have lost the other model
        npu = npu_using(self, start, size);
    }
    while (npu != NULL && job_reap_abandoned(npu)) {
        npu = npu_using(self, start, size);
    }
    if (npu != NULL) {
        binding_raise_os_error(MP_EBUSY,
                               "arena at 0x%x is in use: another model is running or loading "
                               "there, or a job of NPU %u uses it; wait for it, or cancel() it",
                               (unsigned)(uintptr_t)start, (unsigned)npus_index(npu));
    }
}

/** Refuse to share an arena that is in use, or that holds data between inferences. Raises. */
static void check_shared(const model_obj_t *self, const struct ethosu_model_memory *memory)
{
    const char *conflict = conflicting_model(self, memory);
    if (conflict != NULL) {
        gc_collect(); // the program may have lost the other model
        conflict = conflicting_model(self, memory);
    }
    if (conflict != NULL) {
        mp_raise_msg_varg(&mp_type_ValueError,
                          MP_ERROR_TEXT("arena at 0x%x overlaps the arena of a loaded model, and "
                                        "%s keeps data there between inferences"),
                          (unsigned)(uintptr_t)memory->arena, conflict);
    }
    model_check_arena(self, memory->arena, memory->arena_size);
}

/** From now on, each of these models checks on start that no other one is running. */
static void note_shared(model_obj_t *self)
{
    struct pins *next = pin_next(NULL);
    model_obj_t *other;
    while ((other = next_overlapping(&next, self, self->arena, model_arena_size(self))) != NULL) {
        other->shares = self->shares = true;
    }
}

/** May a model use the arena of another method, whose NPU runs one inference after the other? */
static bool may_share(const model_obj_t *self, const model_obj_t *other,
                      const struct ethosu_model_memory *memory)
{
    return self->npu == other->npu && !memory->keeps_data && !other->keeps_data &&
           memory->arena_size <= model_arena_size(other);
}

void model_set_arena(model_obj_t *self, mp_obj_t arena, struct ethosu_model_memory *memory)
{
    memory->arena_size = binding_align(memory->arena_size);
    bool given = arena != mp_const_none;
    struct block block;
    if (mp_obj_is_exact_type(arena, self->base.type)) {
        const model_obj_t *other = MP_OBJ_TO_PTR(arena);
        block = (struct block){other->block[MODEL_ARENA], (void *)(uintptr_t)other->arena, 0};
        given = may_share(self, other, memory);
    } else if (given) {
        mp_buffer_info_t buffer;
        binding_get_buffer(arena, &buffer, MP_BUFFER_WRITE, "arena");
        block = (struct block){pin_block_of(buffer.buf, buffer.len, "arena", NULL),
                               (void *)binding_align((uintptr_t)buffer.buf), buffer.len};
        size_t skipped = (size_t)((uint8_t *)block.data - (uint8_t *)buffer.buf);
        if (buffer.len < memory->arena_size + skipped) {
            mp_raise_msg_varg(&mp_type_ValueError,
                              MP_ERROR_TEXT("arena has %d bytes, the model needs %d there"),
                              (int)buffer.len, (int)(memory->arena_size + skipped));
        }
    }
    if (!given) {
        block = binding_allocate(memory->arena_size, "the arena");
    }
    memory->arena = block.data;
    if (given) {
        check_shared(self, memory);
    }
    self->block[MODEL_ARENA] = block.start;
    self->arena_span =
        (uint32_t)((uint8_t *)block.data - (uint8_t *)block.start + memory->arena_size);
    self->arena = block.data;
    self->keeps_data = memory->keeps_data;
    if (given) {
        note_shared(self);
    }
}
