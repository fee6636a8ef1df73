// SPDX-License-Identifier: MIT
/** Arguments, and exceptions for them; see arguments.h. */
#include "binding/call/arguments.h"

#include "ethosu_memory.h"
#include "py/runtime.h"

_Noreturn void binding_raise_fault(const struct ethosu_ext_fault *fault)
{
    char text[160];
    ethosu_ext_describe(fault, text, sizeof text);
    int number = ethosu_ext_errno(fault->code);
    // A wrong argument is a ValueError, as everywhere in Python.
    if (number == ETHOSU_EXT_EINVAL && fault->code != ETHOSU_EXT_E_NOT_STARTED) {
        mp_raise_msg_varg(&mp_type_ValueError, MP_ERROR_TEXT("%s"), text);
    }
    binding_raise_os_error(number, "%s", text);
}

void binding_get_buffer(mp_obj_t object, mp_buffer_info_t *buffer, mp_uint_t flags,
                        const char *what)
{
    if (!mp_get_buffer(object, buffer, flags)) {
        binding_raise_type(object, what,
                           (flags & MP_BUFFER_WRITE) ? "a writable buffer" : "a buffer");
    }
}

_Noreturn void binding_raise_type(mp_obj_t object, const char *what, const char *expected)
{
    mp_raise_msg_varg(&mp_type_TypeError, MP_ERROR_TEXT("%s is of type %s, expected %s"), what,
                      mp_obj_get_type_str(object), expected);
}

void binding_check_memory(const void *data, size_t size, const char *what)
{
#ifdef MICROPY_ENABLE_DYNRUNTIME
    // The native module has a table of what the NPU can access only.
    (void)data;
    (void)size;
    (void)what;
#else
    const struct ethosu_memory *memory = ethosu_ext_memory_find((uintptr_t)data, size);
    if (size != 0 && (memory == NULL || memory->cpu == ETHOSU_CPU_REGISTERS)) {
        binding_raise_os_error(ETHOSU_EXT_EFAULT,
                               "%s: %u bytes at 0x%x are not in a memory of this board", what,
                               (unsigned)size, (unsigned)(uintptr_t)data);
    }
#endif
}

void binding_get_memory(mp_obj_t object, mp_buffer_info_t *buffer, mp_uint_t flags,
                        const char *what)
{
    binding_get_buffer(object, buffer, flags, what);
    binding_check_memory(buffer->buf, buffer->len, what);
}

mp_obj_t binding_sequence(mp_obj_t given)
{
    if (given == mp_const_none || mp_obj_is_type(given, &mp_type_list) ||
        mp_obj_is_type(given, &mp_type_tuple)) {
        return given;
    }
    mp_buffer_info_t buffer;
    if (mp_obj_is_type(given, &mp_type_dict) || mp_get_buffer(given, &buffer, MP_BUFFER_READ)) {
        mp_raise_msg_varg(&mp_type_TypeError,
                          MP_ERROR_TEXT("expected a list of buffers, [x], found one of type %s"),
                          mp_obj_get_type_str(given));
    }
    return MP_OBJ_TYPE_GET_SLOT(&mp_type_tuple, make_new)(&mp_type_tuple, 1, 0, &given);
}
