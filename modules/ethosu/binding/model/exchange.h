// SPDX-License-Identifier: MIT
/** Lists of a model's inputs and outputs, from and to the caller's objects; all of these raise. */
#ifndef EXCHANGE_H
#define EXCHANGE_H

#include "ethosu_model.h"
#include "py/obj.h"

/** Check all inputs, then write them. `owner` is for exchange_call(). */
void exchange_write_inputs(const struct ethosu_model *model, void *owner, mp_obj_t given);

/**
 * Have a callable write an input: callable(memory, shape, dtype). Supplied by the module:
 * tensor_object.c, and native.c of the native module.
 */
void exchange_call(void *owner, mp_obj_t callable, const struct ethosu_model_buffer *input);

/** Check the caller's buffers for the outputs, or copy the outputs there. */
void exchange_visit_outputs(const struct ethosu_model *model, mp_obj_t given, bool copy);

/**
 * A list of new arrays for the outputs, raw or real: before the inference, since one whose outputs
 * find no memory would have changed the state of a streaming model.
 */
mp_obj_t exchange_new_outputs(const struct ethosu_model *model, bool real);

/** Copy the outputs to the arrays of that list. */
void exchange_fill_outputs(const struct ethosu_model *model, mp_obj_t list, bool real);

#endif
