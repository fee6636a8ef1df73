// SPDX-License-Identifier: MIT
/** Inferences of an `ethosu.Model`. */
#ifndef MODEL_RUN_H
#define MODEL_RUN_H

#include "doc.h"
#include "model_object.h"

/**
 * The runtime asks, while a model is loaded or runs: run callbacks; must it stop? Ctrl-C, an
 * exception of a callback, cancel() and the time-out stop it.
 */
bool model_must_stop(void *model);

/** Stop the inference under way, if there is one. */
void model_stop(model_obj_t *self);

/** predict(), run_into(), and the steps of run(). */
BINDING_DECLARE_METHOD(model_predict_obj);
BINDING_DECLARE_METHOD(model_run_into_obj);
MP_DECLARE_CONST_FUN_OBJ_VAR_BETWEEN(model_start_obj);
MP_DECLARE_CONST_FUN_OBJ_1(model_step_obj);
MP_DECLARE_CONST_FUN_OBJ_VAR_BETWEEN(model_fetch_obj);

#endif
