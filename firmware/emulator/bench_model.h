// SPDX-License-Identifier: MIT
/** Functions of `emulator` for benchmarks of the model runtime. */
#ifndef FIRMWARE_BENCH_MODEL_H
#define FIRMWARE_BENCH_MODEL_H

#include "py/obj.h"

/** emulator.model_costs(file): instructions to measure, load and invoke a model from C. */
MP_DECLARE_CONST_FUN_OBJ_1(bench_model_costs_obj);

#endif
