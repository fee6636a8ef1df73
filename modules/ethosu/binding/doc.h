// SPDX-License-Identifier: MIT
/** What help() shows of the module and of its classes; a terse build has no such texts. */
#ifndef DOC_H
#define DOC_H

#include "py/objstr.h"

/** A text, and its entry in the table of names. */
#ifdef ETHOSU_MESSAGES_TERSE
#define BINDING_DOC(name, text)
#define BINDING_DOC_ENTRY(name)
#else
#define BINDING_DOC(name, text) static const MP_DEFINE_STR_OBJ(name, text);
#define BINDING_DOC_ENTRY(name) {MP_ROM_QSTR(MP_QSTR___doc__), MP_ROM_PTR(&name)},
#endif

#endif
