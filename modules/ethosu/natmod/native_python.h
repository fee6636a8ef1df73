// SPDX-License-Identifier: MIT
/**
 * MicroPython for a native module, plus definitions that sources of the built-in module need but
 * that the function table for native modules lacks or has under other names.
 */
#ifndef NATIVE_PYTHON_H
#define NATIVE_PYTHON_H

#include "py/dynruntime.h"

// Functions in place of dynruntime.h's inline ones, to make the module smaller.
void *native_malloc(size_t size);
#undef m_malloc
#define m_malloc native_malloc
void native_get_array(mp_obj_t object, size_t *count, mp_obj_t **items);
#undef mp_obj_get_array
#define mp_obj_get_array native_get_array

/** The class of the module `array`, which is not a builtin name; looked up by mpy_init(). */
extern const mp_obj_type_t *natmod_array_type;

/** A type by its builtin name. */
const mp_obj_type_t *native_type(qstr name);
#undef mp_type_int
#undef mp_type_TypeError
#undef mp_type_ValueError
#define mp_type_array (*natmod_array_type)
#define mp_type_float (*native_type(MP_QSTR_float))
#define mp_type_int (*native_type(MP_QSTR_int))
#define mp_type_TypeError (*native_type(MP_QSTR_TypeError))
#define mp_type_ValueError (*native_type(MP_QSTR_ValueError))

/** Like mp_raise_msg_varg(); supports %s, %.*s, %c, %d, %u and %x. */
_Noreturn void native_raise(const mp_obj_type_t *type, const char *format, ...);
#define mp_raise_msg_varg native_raise

// The table's function would keep a pointer to the text, which is freed with the module.
#undef mp_raise_TypeError
#undef mp_raise_ValueError
#define mp_raise_TypeError(text) native_raise(&mp_type_TypeError, "%s", (text))
#define mp_raise_ValueError(text) native_raise(&mp_type_ValueError, "%s", (text))

/** Name of an object's type. */
const char *native_type_name(mp_obj_t object);
#define mp_obj_get_type_str native_type_name

bool native_is_callable(mp_obj_t object);
#define mp_obj_is_callable native_is_callable

#endif
