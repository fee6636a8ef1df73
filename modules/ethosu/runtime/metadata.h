// SPDX-License-Identifier: MIT
/** Named pieces of data that tools add to a `.tflite`. */
#ifndef ETHOSU_METADATA_H
#define ETHOSU_METADATA_H

#include "ethosu_model.h"

/**
 * Find a metadata entry of a model's file, such as "vela_version".
 *
 * @param size  set to its bytes; 0 when there is none
 * @return      its address in the file; NULL when there is none
 */
const void *ethosu_model_get_metadata(const struct ethosu_model *model, const char *name,
                                      uint32_t *size);

#endif
