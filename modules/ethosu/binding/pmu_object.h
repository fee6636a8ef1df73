// SPDX-License-Identifier: MIT
/** Python class `ethosu.PMU`: the counters of a reserved NPU. */
#ifndef PMU_OBJECT_H
#define PMU_OBJECT_H

#include "npu_object.h"

// 0: a build without performance counters, which leaves pmu_object.c and driver/ethosu_pmu.c out.
#ifndef ETHOSU_PMU
#define ETHOSU_PMU 1
#endif

extern const mp_obj_type_t binding_pmu_type;

/** NPU.pmu() */
MP_DECLARE_CONST_FUN_OBJ_VAR(npu_pmu_obj);

/** Stop the PMU object that counts on this handle, if there is one; it keeps its values. */
void pmu_stop(npu_obj_t *handle);

#endif
