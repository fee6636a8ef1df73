// SPDX-License-Identifier: MIT
/** Functions of the frozen Python module `_ethosu`; see frozen.h. */
#include "frozen.h"

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
