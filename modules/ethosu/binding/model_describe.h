// SPDX-License-Identifier: MIT
/** Attributes of `ethosu.Model` that describe its tensors. */
#ifndef MODEL_DESCRIBE_H
#define MODEL_DESCRIBE_H

#include "model_object.h"

/** Load `inputs`, `outputs`, `tensors`, `input_shape` and its like; false: it is none of them. */
bool model_load_description(model_obj_t *self, qstr name, mp_obj_t *value);

#endif
