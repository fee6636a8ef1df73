// SPDX-License-Identifier: MIT
/** Arguments that several functions of the module take; see arguments.h. */
#include "arguments.h"

#include "ethosu_ext.h"
#include "py/cstack.h"
#include "py/runtime.h"

void binding_need_stack(size_t size)
{
#if MICROPY_STACK_CHECK
    if (mp_cstack_usage() + size > MP_STATE_THREAD(stack_limit)) {
        mp_raise_recursion_depth();
    }
#else
    (void)size;
#endif
}

uint64_t binding_timeout(mp_int_t milliseconds)
{
    if (milliseconds < -1) {
        mp_raise_msg_varg(&mp_type_ValueError,
                          MP_ERROR_TEXT("timeout_ms is %d, milliseconds or -1 expected"),
                          (int)milliseconds);
    }
    return milliseconds == -1 ? ETHOSU_SEMAPHORE_WAIT_FOREVER : (uint64_t)milliseconds;
}

void binding_get_buffer(mp_obj_t object, mp_buffer_info_t *buffer, mp_uint_t flags,
                        const char *what)
{
    if (!mp_get_buffer(object, buffer, flags)) {
        mp_raise_msg_varg(&mp_type_TypeError, MP_ERROR_TEXT("%s is of type %s, %s expected"), what,
                          mp_obj_get_type_str(object),
                          (flags & MP_BUFFER_WRITE) ? "a writable buffer" : "a buffer");
    }
}

mp_obj_t binding_sequence(mp_obj_t given)
{
    if (given == mp_const_none || mp_obj_is_type(given, &mp_type_list) ||
        mp_obj_is_type(given, &mp_type_tuple)) {
        return given;
    }
    mp_buffer_info_t buffer;
    if (mp_get_buffer(given, &buffer, MP_BUFFER_READ)) {
        mp_raise_msg_varg(&mp_type_TypeError,
                          MP_ERROR_TEXT("a list of buffers expected, [x], found one of type %s"),
                          mp_obj_get_type_str(given));
    }
    return MP_OBJ_TYPE_GET_SLOT(&mp_type_tuple, make_new)(&mp_type_tuple, 1, 0, &given);
}
