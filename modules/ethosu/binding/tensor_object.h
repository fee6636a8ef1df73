// SPDX-License-Identifier: MIT
/** Python class `ethosu.Tensor`, and the values of tensors. */
#ifndef TENSOR_OBJECT_H
#define TENSOR_OBJECT_H

#include "model_object.h"
#include "py/binary.h"
#include "values.h"

extern const mp_obj_type_t binding_tensor_type;

/** A typed view of memory in the arena, or in the file (read-only); it keeps that memory alive. */
mp_obj_t tensor_view(const model_obj_t *self, const void *data, uint32_t size, uint32_t type);

/** New `ethosu.Tensor` for a tensor of the main graph. Raises. */
mp_obj_t tensor_new(mp_obj_t model, uint32_t index);

/** dtype: a str of one typecode. */
mp_obj_t tensor_dtype(uint32_t type);

/**
 * Are the elements of a buffer of this typecode a tensor's raw values? Those of its own type are,
 * and a bytearray holds raw bytes of any type; bytes and array('B') hold uint8 numbers.
 */
static inline bool tensor_takes(uint32_t type, int typecode)
{
    return typecode == values_typecode(type) || typecode == BYTEARRAY_TYPECODE;
}

/** Describe a tensor; raises when the model's buffer has changed so that it can't be read. */
void tensor_get(const model_obj_t *self, uint32_t index, struct ethosu_model_tensor *tensor);

/** Write the real numbers of an object, quantised, to a tensor's bytes. Raises. */
void tensor_quantize(const model_obj_t *self, uint32_t index, mp_obj_t numbers, void *bytes,
                     const char *what);

/** A new array('f') of the real values of a tensor's bytes. */
mp_obj_t tensor_dequantize(const model_obj_t *self, uint32_t index, const void *bytes);

#endif
