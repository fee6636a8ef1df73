// SPDX-License-Identifier: MIT
/** What `ethosu.Model` tells of an ExecuTorch program. */
#ifndef MODEL_PROGRAM_H
#define MODEL_PROGRAM_H

#include "model_object.h"

/** Attributes of a program: `methods`, `constants`, its file; false: the name is none of them. */
bool model_load_program(model_obj_t *self, qstr name, mp_obj_t *value);

/** Add what a program needs and does to the dict of info(). */
void model_add_program(const model_obj_t *self, mp_obj_t dict);

#endif
