// SPDX-License-Identifier: MIT
/** Python class `ethosu.Model`: what its two files share. */
#ifndef MODEL_OBJECT_H
#define MODEL_OBJECT_H

#include "binding.h"

typedef struct {
    mp_obj_base_t base;
    struct ethosu_model *model; /**< NULL: deinit() was called */
    struct ethosu_driver *npu;
    uint64_t timeout;   /**< milliseconds */
    mp_obj_t source;    /**< keeps the file's bytes where they are */
    void *arena_block;  /**< start of the memory that the arena lies in */
    mp_obj_t object;    /**< keeps the runtime's object */
    uint32_t file_size; /**< bytes */
    bool busy;          /**< an inference is under way */
} model_obj_t;

/** The model, alive; raises ValueError after deinit(). */
model_obj_t *model_alive(mp_obj_t self_in);

/** Typecode of Python's array module for a tensor type, 0 when there is none. */
char model_typecode(uint32_t type);

/** A typed view of tensor bytes in the arena; it keeps the arena alive. */
mp_obj_t model_view(const model_obj_t *self, const struct ethosu_model_buffer *buffer);

/** Tuple with an entry for each input (or output). */
mp_obj_t model_describe_all(const model_obj_t *self, bool outputs,
                            mp_obj_t (*describe)(const model_obj_t *self,
                                                 const struct ethosu_model_buffer *buffer));

/** One tensor as a named tuple: name, shape, dtype, scale, zero_point, data. */
mp_obj_t model_describe_tensor(const model_obj_t *self, const struct ethosu_model_buffer *buffer);

/** Load an attribute that describes the model: input_shape and its like; false: no such. */
bool model_load_description(const model_obj_t *self, qstr name, mp_obj_t *value);

#endif
