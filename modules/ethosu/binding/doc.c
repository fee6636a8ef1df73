// SPDX-License-Identifier: MIT
/** Methods that say their arguments; MicroPython's own functions have no texts. */
#include "doc.h"

#include "py/runtime.h"

#ifndef ETHOSU_MESSAGES_TERSE

static void method_print(const mp_print_t *print, mp_obj_t self_in, mp_print_kind_t kind)
{
    (void)kind;
    const struct binding_method *self = MP_OBJ_TO_PTR(self_in);
    mp_print_str(print, self->text);
}

static mp_obj_t method_call(mp_obj_t self_in, size_t n_args, size_t n_kw, const mp_obj_t *args)
{
    const struct binding_method *self = MP_OBJ_TO_PTR(self_in);
    mp_arg_check_num(n_args, n_kw, 1, MP_OBJ_FUN_ARGS_MAX, true);
    mp_map_t keywords;
    mp_map_init_fixed_table(&keywords, n_kw, args + n_args);
    return self->function(n_args, args, &keywords);
}

MP_DEFINE_CONST_OBJ_TYPE(binding_method_type, MP_QSTR_function,
                         MP_TYPE_FLAG_BINDS_SELF | MP_TYPE_FLAG_BUILTIN_FUN, print, method_print,
                         call, method_call);

#endif
