// SPDX-License-Identifier: MIT
/** Arguments that several functions of the module take. */
#ifndef ARGUMENTS_H
#define ARGUMENTS_H

#include "py/obj.h"

/** Default time-out of an inference, milliseconds. */
#define BINDING_TIMEOUT_MS ETHOSU_SEMAPHORE_WAIT_INFERENCE

/** Raise RuntimeError, as for a recursion too deep, when the C stack has no room for so many bytes.
 */
void binding_need_stack(size_t size);

/** Read a time-out argument: milliseconds, -1 for none. Raises. */
uint64_t binding_timeout(mp_int_t milliseconds);

/**
 * Address and size of a buffer argument. Raises TypeError with the type that was found.
 *
 * @param flags  MP_BUFFER_READ or MP_BUFFER_WRITE
 * @param what   name of the argument, for the message
 */
void binding_get_buffer(mp_obj_t object, mp_buffer_info_t *buffer, mp_uint_t flags,
                        const char *what);

/** A list, tuple or None unchanged; a tuple of any other iterable, which may run Python. Raises. */
mp_obj_t binding_sequence(mp_obj_t given);

#endif
