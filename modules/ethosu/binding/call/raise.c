// SPDX-License-Identifier: MIT
/** Exceptions for runtime errors and waits, and argument checks; see raise.h. */
#include <stdarg.h> // before MicroPython: vstr_vprintf() is declared with it only

#include "binding/call/raise.h"

#include <string.h>

#include "py/cstack.h"
#include "py/mperrno.h"
#include "py/runtime.h"

/* ---- exceptions ---- */

MP_REGISTER_ROOT_POINTER(mp_obj_t ethosu_pending_exception);

static _Noreturn void raise_os_error(int number, mp_obj_t message)
{
    // The driver's numbers are Linux's; a port may have others for these two.
    number = number == ETHOSU_EXT_ETIMEDOUT   ? MP_ETIMEDOUT
             : number == ETHOSU_EXT_ECANCELED ? MP_ECANCELED
                                              : number;
    mp_obj_t args[] = {MP_OBJ_NEW_SMALL_INT(number), message};
    nlr_raise(mp_obj_exception_make_new(&mp_type_OSError, MP_ARRAY_SIZE(args), 0, args));
}

_Noreturn void binding_raise_os_error(int number, const char *format, ...)
{
    vstr_t message;
    va_list args;
    vstr_init(&message, 64);
    va_start(args, format);
    vstr_vprintf(&message, format, args);
    va_end(args);
    raise_os_error(number, mp_obj_new_str_from_vstr(&message));
}

_Noreturn void binding_raise_cancelled(void)
{
    binding_raise_os_error(MP_ECANCELED, "the inference was cancelled");
}

static _Noreturn void raise_text(const mp_obj_type_t *type, const char *text)
{
    mp_obj_t message = mp_obj_new_str(text, strlen(text));
    nlr_raise(mp_obj_exception_make_new(type, 1, 0, &message));
}

_Noreturn void binding_raise_model(int status, const struct ethosu_model_error *error)
{
    binding_raise_pending(); // the exception that stopped loading
    if (status == ETHOSU_MODEL_BAD_MEMORY) {
        binding_raise_os_error(MP_EFAULT, "%s", error->text);
    }
    raise_text(&mp_type_ValueError, error->text);
}

void binding_keep_exception(mp_obj_t exception)
{
    MP_STATE_VM(ethosu_pending_exception) = exception;
}

bool binding_is_exception_kept(void)
{
    return MP_STATE_VM(ethosu_pending_exception) != MP_OBJ_NULL;
}

void binding_raise_pending(void)
{
    mp_obj_t exception = MP_STATE_VM(ethosu_pending_exception);
    if (exception != MP_OBJ_NULL) {
        MP_STATE_VM(ethosu_pending_exception) = MP_OBJ_NULL;
        nlr_raise(exception);
    }
}

/* ---- arguments ---- */

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
                          MP_ERROR_TEXT("timeout_ms is %d, expected milliseconds or -1"),
                          (int)milliseconds);
    }
    return milliseconds == -1 ? ETHOSU_SEMAPHORE_WAIT_FOREVER : (uint64_t)milliseconds;
}
