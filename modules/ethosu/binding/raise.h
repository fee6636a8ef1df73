// SPDX-License-Identifier: MIT
/** Exceptions: what the driver and the runtime report, in Python's terms. */
#ifndef RAISE_H
#define RAISE_H

#include "ethosu_ext.h"
#include "ethosu_model.h"
#include "py/obj.h"

/** Raise OSError(number, sentence); the format is that of mp_printf(). */
_Noreturn void binding_raise_os_error(int number, const char *format, ...);

/** Raise OSError(ECANCELED). */
_Noreturn void binding_raise_cancelled(void);

/** Raise ValueError (a wrong argument) or OSError for a fault of the driver. */
_Noreturn void binding_raise_fault(const struct ethosu_ext_fault *fault);

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

#endif
