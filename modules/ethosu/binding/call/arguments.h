// SPDX-License-Identifier: MIT
/** Arguments, and exceptions for them, of the built-in module and of the native one. */
#ifndef ARGUMENTS_H
#define ARGUMENTS_H

#include "ethosu_ext.h"
#include "py/obj.h"

/**
 * Raise OSError(number, message); the format is that of mp_printf(). Supplied by the module:
 * raise.c, and native_arguments.c of the native module, which understands %s, %.*s, %d, %u and %x.
 */
_Noreturn void binding_raise_os_error(int number, const char *format, ...);

/** Raise ValueError (a wrong argument) or OSError for a fault of the driver. */
_Noreturn void binding_raise_fault(const struct ethosu_ext_fault *fault);

/** Raise a TypeError: `what` is of the object's type, expected `expected`. */
_Noreturn void binding_raise_type(mp_obj_t object, const char *what, const char *expected);

/**
 * Address and size of a buffer argument. Raises a TypeError that names the actual type.
 *
 * @param flags  MP_BUFFER_READ or MP_BUFFER_WRITE
 * @param what   name of the argument, for the message
 */
void binding_get_buffer(mp_obj_t object, mp_buffer_info_t *buffer, mp_uint_t flags,
                        const char *what);

/**
 * Before the CPU accesses the bytes of an argument, which may be a uctypes.bytearray_at(): are they
 * in one memory of the board's table, if it has one? Raises OSError(EFAULT).
 */
void binding_check_memory(const void *data, size_t size, const char *what);

/** binding_get_buffer() and binding_check_memory(). */
void binding_get_memory(mp_obj_t object, mp_buffer_info_t *buffer, mp_uint_t flags,
                        const char *what);

/** A list, tuple or None unchanged; a tuple of any other iterable, which may run Python. Raises. */
mp_obj_t binding_sequence(mp_obj_t given);

#endif
