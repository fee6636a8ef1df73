// SPDX-License-Identifier: MIT
/** Exceptions for errors of driver and runtime, and checks of arguments. */
#ifndef RAISE_H
#define RAISE_H

#include "arguments.h"
#include "ethosu_ext.h"
#include "ethosu_model.h"
#include "py/obj.h"

/* ---- exceptions ---- */

/** Raise OSError(ECANCELED). */
_Noreturn void binding_raise_cancelled(void);

/** Raise the reason why an inference of a model failed; it names the operator if that is known. */
_Noreturn void binding_raise_inference(const struct ethosu_model *model, int status,
                                       const struct ethosu_ext_fault *fault);

/** Raise the reason why the runtime rejected a model. */
_Noreturn void binding_raise_model(int status, const struct ethosu_model_error *error);

/** Keep an exception that was raised while C code waits for an NPU; see binding_raise_pending(). */
void binding_keep_exception(mp_obj_t exception);

/** Is an exception kept? */
bool binding_is_exception_kept(void);

/**
 * Raise the exception that binding_keep_exception() kept: Ctrl-C, or what a callback raised.
 * To be called when the wait has ended and the NPU was stopped.
 */
void binding_raise_pending(void);

/* ---- arguments ---- */

/** Default time-out of an inference, milliseconds. */
#define BINDING_TIMEOUT_MS ETHOSU_SEMAPHORE_WAIT_INFERENCE

/** Raise RuntimeError, as for a recursion too deep, when the C stack has fewer than `size` bytes
 * left. */
void binding_need_stack(size_t size);

/** Read a time-out argument: milliseconds, -1 for none. Raises. */
uint64_t binding_timeout(mp_int_t milliseconds);

#endif
