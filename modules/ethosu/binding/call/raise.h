// SPDX-License-Identifier: MIT
/** Exceptions for errors of driver and runtime, and checks of arguments. */
#ifndef RAISE_H
#define RAISE_H

#include "binding/call/arguments.h"
#include "ethosu_ext.h"
#include "ethosu_model.h"
#include "py/obj.h"

/* ---- exceptions ---- */

/** Raise OSError(ECANCELED). */
_Noreturn void binding_raise_cancelled(void);

/** Raise the reason why the runtime rejected a model. */
_Noreturn void binding_raise_model(int status, const struct ethosu_model_error *error);

/** Keep an exception that was raised while C code waits for an NPU; see binding_raise_pending(). */
void binding_keep_exception(mp_obj_t exception);

/** Is an exception kept? */
bool binding_is_exception_kept(void);

/**
 * Raise the exception saved by binding_keep_exception(): Ctrl-C, or one raised by a callback.
 * Call it when the wait has ended and the NPU is stopped.
 */
void binding_raise_pending(void);

/* ---- arguments ---- */

/** Default time-out of an inference, milliseconds. */
#define BINDING_TIMEOUT_MS ETHOSU_SEMAPHORE_WAIT_INFERENCE

/** Raise RuntimeError, as for a recursion too deep, when the C stack has fewer than `size` bytes
 * left. */
void binding_need_stack(size_t size);

/** Read a time-out argument in milliseconds; -1 for no time-out. Raises. */
uint64_t binding_timeout(mp_int_t milliseconds);

#endif
