// SPDX-License-Identifier: MIT
/** All numbers of one tensor, from and to the caller's objects. The native module has this, too. */
#ifndef TENSOR_FILL_H
#define TENSOR_FILL_H

#include "binding/tensor/element.h"
#include "ethosu_model.h"
#include "py/obj.h"
#include "py/objarray.h"

/** Describe a tensor; raises when the model's buffer has changed so that it can't be read. */
void tensor_get(const struct ethosu_model *model, uint32_t index,
                struct ethosu_model_tensor *tensor);

/** Numbers that these bytes of an enum ethosu_model_type hold. */
size_t tensor_count(uint32_t type, size_t size);

/** Scale and zero point of one channel of a tensor of the main graph. */
struct quantization tensor_channel(const struct ethosu_model *model, uint32_t index,
                                   uint32_t channel);

/**
 * Address of a buffer of raw values. Raises if its type, its size or its memory is wrong.
 *
 * @param type   of the tensor, enum ethosu_model_type
 * @param size   expected size in bytes
 * @param what   purpose of the buffer, for the message
 * @param index  number of the buffer, for the message; -1 if there is only one
 */
void *tensor_bytes(uint32_t type, size_t size, const mp_buffer_info_t *given, const char *what,
                   int index);

/**
 * Write the real numbers of an object, quantised, rounded to nearest and saturated, to a tensor's
 * bytes. Raises before anything is written. `what` names the purpose of the numbers.
 */
void tensor_fill_raw(const struct ethosu_model *model, uint32_t index, mp_obj_t numbers,
                     void *bytes, const char *what);

/** The same, to a buffer for all raw values of the tensor; `what` names the buffer. */
void tensor_fill_raw_into(const struct ethosu_model *model, uint32_t index, mp_obj_t numbers,
                          mp_obj_t into, const char *what);

/** Write the real values of a tensor's bytes to as many floats. Raises. */
void tensor_fill_real(const struct ethosu_model *model, uint32_t index, const void *bytes,
                      float *floats);

/** Dequantise raw values to a float buffer, or to a new array('f') for None. Returns it. Raises. */
mp_obj_t tensor_real_into(const struct ethosu_model *model, uint32_t index, mp_obj_t raw,
                          mp_obj_t into);

/** A new array for `size` bytes of numbers of this enum ethosu_model_type. */
mp_obj_array_t *tensor_new_array(uint32_t type, size_t size);

/** A new array('f'). */
mp_obj_array_t *tensor_new_floats(size_t count);

#endif
