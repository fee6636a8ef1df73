// SPDX-License-Identifier: MIT
/** Real values of a model's tensors, with one scale or with one for each channel. */
#ifndef VALUES_H
#define VALUES_H

#include "ethosu_model.h"
#include "numbers.h"

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

#endif
