// SPDX-License-Identifier: MIT
/** One number: of a Python object, or in memory, raw or real. The native module has this, too. */
#ifndef ELEMENT_H
#define ELEMENT_H

#include "py/obj.h"

/** real = (raw - zero_point) * scale; scale 0 if the numbers are not quantised. */
struct quantization {
    float scale;
    int32_t zero_point;
};

/** Numbers to read: elements of a list or tuple, or of memory with a typecode. */
struct numbers {
    const mp_obj_t *items; /**< NULL if in memory */
    const void *data;
    size_t count;
    char typecode; /**< of Python's array module */
};

/** Typecode of Python's array module for an enum ethosu_model_type; 'B' if it has no equivalent. */
char element_typecode(uint32_t type);

/** Bytes of one number of this typecode; 0 if it is not numeric. */
size_t element_width(char typecode);

/** Get a buffer of numbers; false for any other type, and for a str, whose bytes are no numbers. */
bool element_buffer(mp_obj_t object, mp_buffer_info_t *buffer);

/** Read a list, tuple or buffer; false for any other type. Raises for memory that is not there. */
bool element_source(mp_obj_t object, struct numbers *numbers);

/** Number `index`, unchanged. Raises if an item of a list is not a number. */
mp_float_t element_get(const struct numbers *numbers, size_t index);

/** Write a number to memory: integers are rounded to nearest, halves away from 0, and saturate. */
void element_put(void *data, char typecode, size_t index, mp_float_t value);

/** Write the raw value of a real one, as TensorFlow Lite's QUANTIZE does. */
void element_put_quantized(void *data, char typecode, size_t index, float value,
                           const struct quantization *quantization);

/** The real value of a raw one. */
float element_real(mp_float_t raw, const struct quantization *quantization);

#endif
