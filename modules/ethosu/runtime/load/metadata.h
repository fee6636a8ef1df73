// SPDX-License-Identifier: MIT
/** Named data that tools add to a `.tflite`. */
#ifndef ETHOSU_METADATA_H
#define ETHOSU_METADATA_H

#include "ethosu_model.h"

/**
 * Find a metadata entry of a model's file, for example "vela_version".
 *
 * @param size  set to its size in bytes, or 0 if not found
 * @return      its address in the file, or NULL if not found
 */
const void *ethosu_model_get_metadata(const struct ethosu_model *model, const char *name,
                                      uint32_t *size);

#endif
