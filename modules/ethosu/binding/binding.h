// SPDX-License-Identifier: MIT
/** What the files of the Python module `ethosu` share. */
#ifndef BINDING_H
#define BINDING_H

#include "ethosu_driver_ex.h"
#include "ethosu_model.h"
#include "py/obj.h"

/** NPUs that the module serves; a board may have fewer. */
#define BINDING_MAX_NPUS 4

/** Default time-out of an inference, milliseconds. */
#define BINDING_TIMEOUT_MS ETHOSU_SEMAPHORE_WAIT_INFERENCE

extern const mp_obj_type_t binding_npu_type;
extern const mp_obj_type_t binding_model_type;

/** For soft reset, and before the machine is reset: no NPU works in memory after this. */
void ethosu_deinit_all(void);

/** ethosu.reserve() */
MP_DECLARE_CONST_FUN_OBJ_KW(binding_reserve_obj);

/** The NPU that an argument names: None (the first), an index, or a config's name. Raises. */
struct ethosu_driver *binding_choose_npu(mp_obj_t which);

/** Reserve this very NPU, waiting at most so many milliseconds. Raises. */
void binding_reserve_npu(struct ethosu_driver *npu, uint64_t timeout);

/** Index of an NPU of the board, for binding_keep(). */
size_t binding_index(const struct ethosu_driver *npu);

/** Keep an object alive until the NPU has finished its inference; MP_OBJ_NULL: no more. */
void binding_keep(const struct ethosu_driver *npu, mp_obj_t object);

/** Raise what a fault of the driver means in Python. */
_Noreturn void binding_raise_fault(const struct ethosux_fault *fault);

/** Raise OSError(number, text). */
_Noreturn void binding_raise_os_error(int number, const char *text);

/** Raise what the runtime refused a model for. */
_Noreturn void binding_raise_model(int status, const struct ethosu_model_error *error);

/**
 * Raise what came up while the C code below waited for the NPU: Ctrl-C, or an
 * exception that a callback let through. By now the NPU has been stopped.
 */
void binding_raise_pending(void);

/** Read a time-out argument: milliseconds, -1 for none. Raises. */
uint64_t binding_timeout(mp_int_t milliseconds);

/**
 * Where a buffer argument lies; raises TypeError, with a hint what it was.
 *
 * @param what  name of the argument, for the message
 */
void binding_get_buffer(mp_obj_t object, mp_buffer_info_t *buffer, mp_uint_t flags,
                        const char *what);

#endif
