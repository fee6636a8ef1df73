// SPDX-License-Identifier: MIT
/** Values and descriptions of tensors, models and NPUs; the native module has them, too. */
#ifndef VALUES_H
#define VALUES_H

#include "ethosu_ext.h"
#include "ethosu_model.h"
#include "py/obj.h"

/* ---- numbers ---- */

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

/** Write the raw value of a real one, as TensorFlow Lite's QUANTIZE does. */
void numbers_put_quantized(void *data, char typecode, size_t index, float value,
                           const struct quantization *quantization);

/** Write a number to memory: integers are rounded to nearest, halves away from 0, and saturate. */
void numbers_put(void *data, char typecode, size_t index, mp_float_t value);

/** The real value of a raw one. */
float numbers_dequantize(mp_float_t raw, const struct quantization *quantization);

/* ---- values of tensors ---- */

/** Typecode of Python's array module for an enum ethosu_model_type; 'B' if there is none. */
char values_typecode(uint32_t type);

/** Elements of a tensor. */
size_t values_count(const struct ethosu_model_tensor *tensor);

/** Scale and zero point of one channel of a tensor of the main graph. */
struct quantization values_channel(const struct ethosu_model *model, uint32_t index,
                                   uint32_t channel);

/**
 * Write real numbers as a tensor's raw values; rounded to nearest, saturated. Raises before
 * anything is written when an item of a list is no number.
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

/* ---- descriptions ---- */

/** NPU.info(): config, MACs, versions of architecture and driver, time-outs, resets. */
mp_obj_t info_npu(struct ethosu_driver *npu);

/** What the runtime does not know of a model. */
struct info_more {
    const void *arena;
    uint32_t file_size; /**< bytes */
    bool file_copied;   /**< the file was read into RAM */
};

/** Model.info(): config, steps, sizes, share of the NPU, version of Vela, place of the weights. */
mp_obj_t info_model(const struct ethosu_model *model, const struct info_more *more);

/** Version of Vela that compiled the model, as a str; None when the file does not say. */
mp_obj_t info_vela(const struct ethosu_model *model);

/**
 * Append the facts of TFLite metadata to a list, for _ethosu_metadata.py: (subject, kind, bytes).
 *
 * @return  ETHOSU_MODEL_OK, or ETHOSU_MODEL_BAD_FILE with a sentence
 */
int info_facts(const struct ethosu_model *model, mp_obj_t list, struct ethosu_model_error *error);

/** Sentence that says where the weights are. */
const char *info_weights(const struct ethosu_model_info *info, bool file_copied);

/** Dimensions of a tensor, as a tuple. */
mp_obj_t info_shape(const struct ethosu_model_tensor *tensor);

/** Which dimensions of the exporter's sizes these are: (0, 2, 3, 1) is NHWC. */
mp_obj_t info_order(const struct ethosu_model_tensor *tensor);

/** Scale (or zero point) of tensor `index`; a tuple when each channel has its own. */
mp_obj_t info_channels(const struct ethosu_model *model, uint32_t index,
                       const struct ethosu_model_tensor *tensor, bool scales);

/** Dimension of the channels; None: one scale for the whole tensor. */
mp_obj_t info_axis(const struct ethosu_model_tensor *tensor);

#endif
