// SPDX-License-Identifier: MIT
/** Texts for help(), which a terse build leaves out, and methods that are written in Python. */
#ifndef METHODS_H
#define METHODS_H

#include "py/objstr.h"

/** A text, and its entry in the table of names. */
#ifdef ETHOSU_MESSAGES_TERSE
#define BINDING_DOC(name, text)
#define BINDING_DOC_ENTRY(name)
#define BINDING_METHOD(object, function, text) MP_DEFINE_CONST_FUN_OBJ_KW(object, 1, function)
#define BINDING_DECLARE_METHOD(object) MP_DECLARE_CONST_FUN_OBJ_KW(object)
#else
#define BINDING_DOC(name, text) static const MP_DEFINE_STR_OBJ(name, text);
#define BINDING_DOC_ENTRY(name) {MP_ROM_QSTR(MP_QSTR___doc__), MP_ROM_PTR(&name)},

/** A method that takes keywords; help(object.method) shows its name and arguments. */
struct binding_method {
    mp_obj_base_t base;
    mp_fun_kw_t function;
    const char *text;
};

extern const mp_obj_type_t binding_method_type;

#define BINDING_METHOD(object, function, text) \
    const struct binding_method object = {{&binding_method_type}, function, text}
#define BINDING_DECLARE_METHOD(object) extern const struct binding_method object
#endif

/** Call a function of `_ethosu`. Raises. */
mp_obj_t binding_call_frozen(qstr name, size_t n_args, const mp_obj_t *args, mp_map_t *kw_args);

/** A method that is a function of `_ethosu`, with the text that help() shows. */
#define BINDING_FROZEN_METHOD(object, name, text)                                         \
    static mp_obj_t object##_call(size_t n_args, const mp_obj_t *args, mp_map_t *kw_args) \
    {                                                                                     \
        return binding_call_frozen(name, n_args, args, kw_args);                          \
    }                                                                                     \
    static BINDING_METHOD(object, object##_call, text)

#endif
