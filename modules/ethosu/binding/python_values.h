// SPDX-License-Identifier: MIT
/** Values and descriptions of tensors, models and NPUs; the native module has them, too. */
#ifndef PYTHON_VALUES_H
#define PYTHON_VALUES_H

#include "ethosu_ext.h"
#include "ethosu_model.h"
#include "py/binary.h"
#include "py/obj.h"
#include "py/objarray.h"

/* ---- numbers ---- */

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

/** Get a buffer of numbers; false for any other type, and for a str, whose bytes are no numbers. */
bool numbers_buffer(mp_obj_t object, mp_buffer_info_t *buffer);

/** Read a list, tuple or buffer; false for any other type. */
bool numbers_of(mp_obj_t object, struct numbers *numbers);

/** Bytes of one number of this typecode; 0 if it is not numeric. */
size_t numbers_width(char typecode);

/**
 * A float, an int or a bool as a number; raises TypeError for other objects,
 * whose __float__() could run Python and change the list they are in.
 */
mp_float_t numbers_from_object(mp_obj_t item);

/** Number `index`, unchanged. Raises if an item of a list is not a number. */
mp_float_t numbers_get(const struct numbers *numbers, size_t index);

/** Write the raw value of a real one, as TensorFlow Lite's QUANTIZE does. */
void numbers_put_quantized(void *data, char typecode, size_t index, float value,
                           const struct quantization *quantization);

/** Write a number to memory: integers are rounded to nearest, halves away from 0, and saturate. */
void numbers_put(void *data, char typecode, size_t index, mp_float_t value);

/** The real value of a raw one. */
float numbers_dequantize(mp_float_t raw, const struct quantization *quantization);

/* ---- values of tensors ---- */

/** Typecode of Python's array module for an enum ethosu_model_type; 'B' if it has no equivalent. */
char values_typecode(uint32_t type);

/** Elements of a tensor. */
size_t values_count(const struct ethosu_model_tensor *tensor);

/** Scale and zero point of one channel of a tensor of the main graph. */
struct quantization values_channel(const struct ethosu_model *model, uint32_t index,
                                   uint32_t channel);

/**
 * Write real numbers as a tensor's raw values, rounded to nearest and saturated. If an item of a
 * list is not a number, raises before anything is written.
 *
 * @param tensor   its description
 * @param numbers  values_count() of them
 * @param bytes    memory for the raw values
 */
void values_quantize(const struct ethosu_model *model, uint32_t index,
                     const struct ethosu_model_tensor *tensor, const struct numbers *numbers,
                     void *bytes);

/**
 * Write the real values of a tensor's raw ones.
 *
 * @param tensor    its description
 * @param raw       values_count() numbers
 * @param floats    memory for as many
 * @param typecode  'f' or 'd'
 */
void values_dequantize(const struct ethosu_model *model, uint32_t index,
                       const struct ethosu_model_tensor *tensor, const struct numbers *raw,
                       void *floats, char typecode);

/* ---- the caller's objects; all of these raise ---- */

/**
 * Can a buffer of this typecode hold a tensor's raw values? The type must match, except that a
 * bytearray holds raw bytes of any type; bytes and array('B') hold uint8 numbers.
 */
static inline bool values_accept(uint32_t type, int typecode)
{
    return typecode == values_typecode(type) || typecode == BYTEARRAY_TYPECODE;
}

/**
 * Check type and size of a buffer of raw values.
 *
 * @param type   of the tensor, enum ethosu_model_type
 * @param size   expected size in bytes
 * @param what   purpose of the buffer, for the message
 * @param index  number of the buffer, for the message; -1 if there is only one
 */
void values_check_raw(uint32_t type, size_t size, const mp_buffer_info_t *given, const char *what,
                      int index);

/** Describe a tensor; raises when the model's buffer has changed so that it can't be read. */
void values_get_tensor(const struct ethosu_model *model, uint32_t index,
                       struct ethosu_model_tensor *tensor);

/** Write the real numbers of an object, quantised, to a tensor's bytes. `what` names their purpose.
 */
void values_quantize_object(const struct ethosu_model *model, uint32_t index, mp_obj_t numbers,
                            void *bytes, const char *what);

/** The same, to a buffer for all raw values of the tensor; `what` names the buffer. */
void values_quantize_into(const struct ethosu_model *model, uint32_t index, mp_obj_t numbers,
                          mp_obj_t into, const char *what);

/** Dequantise raw values to a float buffer, or to a new array('f') for None. Returns it. */
mp_obj_t values_dequantize_into(const struct ethosu_model *model, uint32_t index, mp_obj_t raw,
                                mp_obj_t into);

/** A new array for `size` bytes of numbers of this enum ethosu_model_type. */
mp_obj_array_t *values_new_array(uint32_t type, size_t size);

/** A new array('f'). */
mp_obj_array_t *values_new_floats(size_t count);

/** Write the real values of a tensor's bytes to as many floats. */
void values_fill_floats(const struct ethosu_model *model, uint32_t index, const void *bytes,
                        void *floats);

/** Check all inputs, then write them. `owner` is for values_call(). */
void values_write_inputs(const struct ethosu_model *model, void *owner, mp_obj_t given);

/**
 * Have a callable write an input: callable(memory, shape, dtype). Supplied by the module:
 * model_run.c, and native.c of the native module.
 */
void values_call(void *owner, mp_obj_t callable, const struct ethosu_model_buffer *input);

/** Check the caller's buffers for the outputs, or copy the outputs there. */
void values_visit_outputs(const struct ethosu_model *model, mp_obj_t given, bool copy);

/**
 * A list of new arrays for the outputs, raw or real: before the inference, since one whose outputs
 * find no memory would have changed the state of a streaming model.
 */
mp_obj_t values_new_outputs(const struct ethosu_model *model, bool real);

/** Copy the outputs to the arrays of that list. */
void values_fill_outputs(const struct ethosu_model *model, mp_obj_t list, bool real);

/* ---- descriptions ---- */

/** NPU.info(): config, MACs, versions of architecture and driver, time-outs, resets. */
mp_obj_t info_npu(struct ethosu_driver *npu);

/** Properties of a model that the runtime does not provide. */
struct model_properties {
    const void *arena;
    uint32_t file_size; /**< bytes */
    bool file_copied;   /**< the file was read into RAM */
};

/** Model.info(): config, steps, sizes, share of the NPU, version of Vela, location of the weights.
 */
mp_obj_t info_model(const struct ethosu_model *model, const struct model_properties *more);

/** Version of Vela that compiled the model, as a str; None if not in the file. */
mp_obj_t info_vela(const struct ethosu_model *model);

/**
 * Append the facts of TFLite metadata to a list, for _ethosu_metadata.py: (subject, kind, bytes).
 *
 * @return  ETHOSU_MODEL_OK, or ETHOSU_MODEL_BAD_FILE with a message
 */
int info_facts(const struct ethosu_model *model, mp_obj_t list, struct ethosu_model_error *error);

/** Sentence that describes the location of the weights. */
const char *info_weights(const struct ethosu_model_info *info, bool file_copied);

/** Dimensions of a tensor, as a tuple. */
mp_obj_t info_shape(const struct ethosu_model_tensor *tensor);

/** Which dimensions of the exporter's sizes these are: (0, 2, 3, 1) is NHWC. */
mp_obj_t info_order(const struct ethosu_model_tensor *tensor);

/** Scale (or zero point) of tensor `index`; a tuple when each channel has its own. */
mp_obj_t info_channels(const struct ethosu_model *model, uint32_t index,
                       const struct ethosu_model_tensor *tensor, bool scales);

/** Dimension of the channels; None if the whole tensor has one scale. */
mp_obj_t info_axis(const struct ethosu_model_tensor *tensor);

#endif
