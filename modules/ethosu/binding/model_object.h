// SPDX-License-Identifier: MIT
/** Python class `ethosu.Model`: what its files share. */
#ifndef MODEL_OBJECT_H
#define MODEL_OBJECT_H

#include "npu_object.h"

typedef struct model_obj {
    mp_obj_base_t base;
    struct ethosu_model *model; /**< on the heap; NULL: deinit() was called */
    struct ethosu_driver *npu;
    npu_obj_t *handle;        /**< runs on this reservation; NULL: reserves for each inference */
    struct deadline deadline; /**< of each inference */
    mp_obj_t source;          /**< keeps the file's bytes where they are */
    const uint8_t *file;      /**< those bytes */
    void *arena_block;        /**< start of the memory that the arena lies in */
    uint32_t arena_span;      /**< bytes from there to the arena's end */
    mp_obj_t tensors[2];      /**< tuples of inputs and outputs; MP_OBJ_NULL: not asked for yet */
    mp_obj_t postprocess;
    uint32_t file_size; /**< bytes */
    bool file_copied;   /**< the file was read into RAM */
    bool real;          /**< predict() answers real values */
    bool busy;          /**< an inference is under way */
} model_obj_t;

/** The model, alive; raises ValueError after deinit(). */
model_obj_t *model_alive(mp_obj_t self_in);

/** The model, alive and not at work; raises. */
model_obj_t *model_idle(mp_obj_t self_in);

/** Stop the inference under way, if any. */
void model_stop(model_obj_t *self);

/** Typecode of Python's array module for a tensor type. */
char model_typecode(uint32_t type);

/** A typed view of memory in the arena (or in the file: read-only); it keeps that alive. */
mp_obj_t model_view(const model_obj_t *self, const void *data, uint32_t size, uint32_t type);

/** The tuple `inputs` (or `outputs`), made once. */
mp_obj_t model_tensors(model_obj_t *self, bool outputs);

/** Load an attribute that describes the model: input_shape and its like; false: no such. */
bool model_load_description(model_obj_t *self, qstr name, mp_obj_t *value);

/** New `ethosu.Tensor` for a tensor of the main graph. */
mp_obj_t tensor_new(mp_obj_t model, uint32_t index);

/** Shape and dtype as Python has them. */
mp_obj_t tensor_shape(const struct ethosu_model_tensor *tensor);
mp_obj_t tensor_dtype(uint32_t type);

/** Facts about a tensor; raises when the file was changed since. */
void tensor_get(const model_obj_t *self, uint32_t index, struct ethosu_model_tensor *tensor);

/** Write the real numbers of an object, quantised, to a tensor's bytes. Raises. */
void tensor_quantize(const model_obj_t *self, uint32_t index, mp_obj_t numbers, void *bytes,
                     const char *what);

/** A new array('f') of the real values that a tensor's bytes stand for. */
mp_obj_t tensor_dequantize(const model_obj_t *self, uint32_t index, const void *bytes);

/** predict(), run_into(), run() and the steps of an inference that does not block. */
MP_DECLARE_CONST_FUN_OBJ_KW(model_predict_obj);
MP_DECLARE_CONST_FUN_OBJ_KW(model_run_into_obj);
MP_DECLARE_CONST_FUN_OBJ_VAR_BETWEEN(model_start_obj);
MP_DECLARE_CONST_FUN_OBJ_1(model_step_obj);
MP_DECLARE_CONST_FUN_OBJ_VAR_BETWEEN(model_fetch_obj);

#endif
