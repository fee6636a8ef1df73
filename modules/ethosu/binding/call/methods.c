// SPDX-License-Identifier: MIT
/** Methods with a text for help(), and methods written in Python; see methods.h. */
#include "binding/call/methods.h"

#include "py/builtin.h"
#include "py/runtime.h"

mp_obj_t binding_call_frozen(qstr name, size_t n_args, const mp_obj_t *args, mp_map_t *kw_args)
{
    mp_obj_t module = mp_import_name(MP_QSTR__ethosu, mp_const_none, MP_OBJ_NEW_SMALL_INT(0));
    mp_obj_t function = mp_load_attr(module, name);
    size_t n_kw = kw_args->used;
    size_t count = n_args + 2 * n_kw;
    mp_obj_t *all = m_new(mp_obj_t, count);
    size_t next = 0;
    for (; next < n_args; next++) {
        all[next] = args[next];
    }
    for (size_t i = 0; i < kw_args->alloc; i++) {
        if (mp_map_slot_is_filled(kw_args, i)) {
            all[next++] = kw_args->table[i].key;
            all[next++] = kw_args->table[i].value;
        }
    }
    mp_obj_t result = mp_call_function_n_kw(function, n_args, n_kw, all);
    m_del(mp_obj_t, all, count);
    return result;
}

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
    if (n_args == 0) { // the class's, called without an object
        mp_arg_check_num(n_args, n_kw, 1, MP_OBJ_FUN_ARGS_MAX, true);
    }
    mp_map_t keywords = {.all_keys_are_qstrs = 1,
                         .is_fixed = 1,
                         .is_ordered = 1,
                         .used = n_kw,
                         .alloc = n_kw,
                         .table = (mp_map_elem_t *)(uintptr_t)(args + n_args)};
    return self->function(n_args, args, &keywords);
}

MP_DEFINE_CONST_OBJ_TYPE(binding_method_type, MP_QSTR_function,
                         MP_TYPE_FLAG_BINDS_SELF | MP_TYPE_FLAG_BUILTIN_FUN, print, method_print,
                         call, method_call);

#endif
