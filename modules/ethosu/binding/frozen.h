// SPDX-License-Identifier: MIT
/** Functions of the frozen Python module `_ethosu`: asyncio, self-test. */
#ifndef FROZEN_H
#define FROZEN_H

#include "doc.h"

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
