// SPDX-License-Identifier: MIT
/** What help() shows of the module, of its classes and methods; a terse build has no such texts. */
#ifndef DOC_H
#define DOC_H

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

#endif
