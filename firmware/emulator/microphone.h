// SPDX-License-Identifier: MIT
/** Function `emulator.microphone()` of the Python module. */
#ifndef EMULATOR_MICROPHONE_H
#define EMULATOR_MICROPHONE_H

#include "py/obj.h"

extern const mp_obj_fun_builtin_fixed_t emulator_microphone_obj;

#endif
