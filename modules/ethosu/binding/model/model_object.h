// SPDX-License-Identifier: MIT
/** Python classes `ethosu.Model`, a loaded model, and `ethosu.Tensor`. */
#ifndef MODEL_OBJECT_H
#define MODEL_OBJECT_H

#include "binding/call/methods.h"
#include "binding/memory/buffers.h"
#include "binding/npu/job.h"
#include "binding/npu/npu_object.h"
#include "ethosu_model.h"
#include "py/binary.h"

extern const mp_obj_type_t binding_model_type;

/** Blocks of memory that a model works in: of the heap, or addresses elsewhere. */
enum { MODEL_FILE, MODEL_ARENA, MODEL_DATA, MODEL_BLOCKS };

typedef struct model_obj {
    mp_obj_base_t base;
    struct ethosu_model *model; /**< on the heap; NULL after deinit() */
    struct ethosu_driver *npu;
    npu_obj_t *handle;        /**< reservation to run on; NULL to reserve for each inference */
    struct deadline deadline; /**< of each inference */
    struct pins pins;
    void *block[MODEL_BLOCKS]; /**< where they start, for the collector; NULL after deinit() */
    const void *arena;
    uint32_t arena_span; /**< bytes from the start of its block to the arena's end */
    mp_obj_t tensors[2]; /**< tuples of inputs and outputs; MP_OBJ_NULL: not made yet */
    mp_obj_t postprocess;
    const struct source *data; /**< data that a program keeps in another file, or NULL */
    uint32_t file_size;        /**< bytes */
    bool file_copied;          /**< the file was read into RAM */
    bool file_may_change;      /**< Python can write to the file, or to the data */
    bool keeps_data;           /**< in its arena, between inferences */
    bool lost;                 /**< its ROM was written, maybe while it was being loaded */
    bool real;                 /**< predict() returns real values */
    bool verify;               /**< it was loaded with verify=True */
    bool one_call;             /**< an inference consists of a single NPU call */
    bool shares;               /**< another model was loaded into memory of its arena */
} model_obj_t;

/** The model; raises ValueError after deinit(). */
model_obj_t *model_open(mp_obj_t self_in);

/**
 * Raise OSError(EBUSY) if memory for this model's arena is in use by the inference or loading of
 * another model, or by a job of a handle.
 */
void model_check_arena(const model_obj_t *self, const void *start, size_t size);

/**
 * Memory for an arena: of `arena` if it is a model that this one is another method of, or a buffer;
 * a new block. Raises.
 */
void model_set_arena(model_obj_t *self, mp_obj_t arena, struct ethosu_model_memory *memory);

/** The model's ROM is about to be written: the model is lost. */
void model_invalidate(struct pins *pins);

/** The class's constructor: Model(source, *, npu=None, ...). Raises. */
mp_obj_t model_make_new(const mp_obj_type_t *type, size_t n_args, size_t n_kw,
                        const mp_obj_t *pos_args);

/** Load another method of a program, in the same arena if it may lie there. Raises. */
mp_obj_t model_new_method(model_obj_t *self, const char *method);

/** Bytes of a model's arena. */
static inline size_t model_arena_size(const model_obj_t *self)
{
    return (uintptr_t)self->block[MODEL_ARENA] + self->arena_span - (uintptr_t)self->arena;
}

/** Is an inference of this model running? */
static inline bool model_is_busy(const model_obj_t *self)
{
    return job_of(self->npu)->owner == self;
}

/**
 * The model, if its arena may be written. Raises after deinit(), while the model is running, or
 * while another model is using the same arena.
 */
model_obj_t *model_idle(mp_obj_t self_in);

/** A model that runs is idle if its job was abandoned. Raises. */
void model_finish_abandoned(const model_obj_t *self);

/* ---- describing ---- */

/** The value of an attribute that describes the model; MP_OBJ_NULL if it does not exist. */
mp_obj_t model_describe(model_obj_t *self, qstr name);

/** Method `_case`, which reads test cases of a bundled program. */
MP_DECLARE_CONST_FUN_OBJ_2(model_case_obj);

/** Add a program's requirements and operations to the dict of info(). */
void model_add_program(const model_obj_t *self, mp_obj_t dict);

/* ---- running ---- */

/**
 * Polled by the runtime while a model is loaded or run: run callbacks and return whether to stop.
 * Ctrl-C, an exception in a callback, cancel() and the time-out stop it.
 */
bool model_must_stop(void *model);

/** Stop the current inference, if any. */
void model_stop(model_obj_t *self);

/** predict(), run_into(), and the steps of run(). */
BINDING_DECLARE_METHOD(model_predict_obj);
BINDING_DECLARE_METHOD(model_run_into_obj);
MP_DECLARE_CONST_FUN_OBJ_VAR_BETWEEN(model_start_obj);
MP_DECLARE_CONST_FUN_OBJ_1(model_step_obj);
MP_DECLARE_CONST_FUN_OBJ_VAR_BETWEEN(model_fetch_obj);

/* ---- tensors ---- */

extern const mp_obj_type_t binding_tensor_type;

/** A typed view of memory in the arena or in the file (read-only); keeps that memory alive. */
mp_obj_t tensor_view(const model_obj_t *self, const void *data, uint32_t size, uint32_t type);

/** New `ethosu.Tensor` for a tensor of the main graph. Raises. */
mp_obj_t tensor_new(mp_obj_t model, uint32_t index);

/** dtype: a str of one typecode. */
mp_obj_t tensor_dtype(uint32_t type);

#endif
