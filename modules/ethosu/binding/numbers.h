// SPDX-License-Identifier: MIT
/** Arrays of numbers in Python objects and in tensors, raw and real ones. */
#ifndef NUMBERS_H
#define NUMBERS_H

#include "py/obj.h"

/** real = (raw - zero_point) * scale; scale 0: the numbers are not quantised. */
struct quantization {
    float scale;
    int32_t zero_point;
};

/** Numbers to read: elements of a list or tuple, or of memory with a typecode. */
struct numbers {
    const mp_obj_t *items; /**< NULL: in memory */
    const void *data;
    size_t count;
    char typecode; /**< of Python's array module */
};

/** Read a list, tuple or buffer; false: it is none of them. */
bool numbers_of(mp_obj_t object, struct numbers *numbers);

/** Bytes of one number of this typecode; 0: not a type of numbers. */
size_t numbers_width(char typecode);

/**
 * A float, an int or a bool as a number; raises TypeError for other objects,
 * whose __float__() could run Python and change the list they are in. Supplied by the module that
 * uses this file: tensor_object.c, and native.c of the native module.
 */
mp_float_t numbers_from_object(mp_obj_t item);

/** Number `index`, unchanged. Raises when an item of a list is no number. */
mp_float_t numbers_get(const struct numbers *numbers, size_t index);

/** Write a number to memory: integers are rounded to nearest, halves away from 0, and saturate. */
void numbers_put(void *data, char typecode, size_t index, mp_float_t value);

/** Write the raw value of a real one, as TensorFlow Lite's QUANTIZE does. */
void numbers_put_quantized(void *data, char typecode, size_t index, float value,
                           const struct quantization *quantization);

/** The real value of a raw one. */
float numbers_dequantize(mp_float_t raw, const struct quantization *quantization);

#endif
