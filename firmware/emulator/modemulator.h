// SPDX-License-Identifier: MIT
/** Functions of the Python module `emulator` that have a source of their own. */
#ifndef MODEMULATOR_H
#define MODEMULATOR_H

#include "py/obj.h"

MP_DECLARE_CONST_FUN_OBJ_3(emulator_microphone_obj);

/** emulator.model_costs(file): instructions to measure, load and invoke a model from C. */
MP_DECLARE_CONST_FUN_OBJ_1(bench_model_costs_obj);

#endif
