// SPDX-License-Identifier: MIT
/** Python classes `ethosu.NPU`, the handle of a reserved NPU, and `ethosu.PMU`, its counters. */
#ifndef NPU_OBJECT_H
#define NPU_OBJECT_H

#include "binding/memory/buffers.h"
#include "binding/npu/job.h"
#include "driver/base/ethosu_build.h"

extern const mp_obj_type_t binding_npu_type;

typedef struct {
    mp_obj_base_t base;
    struct ethosu_driver *npu; /**< NULL after release */
    bool powered;              /**< clock and power stay on between inferences */
    bool cancelled;            /**< cancel() stopped a job that wait() has not ended yet */
    struct pmu *pmu;           /**< the active PMU object, or NULL */
    struct deadline deadline;
    struct ethosu_ext_program program;
    // Memory used by the running inference: bases, then the payload.
    struct pins pins;
    void *block[ETHOSU_EXT_MAX_BASES + 1];
    struct block copy; /**< of a payload that Python could change; kept for the next one */
    bool busy;         /**< a job was started that wait() has not ended yet */
} npu_obj_t;

/** The handle, still reserved; raises when it was released. */
npu_obj_t *npu_reserved(mp_obj_t handle);

/** ethosu.reserve() */
MP_DECLARE_CONST_FUN_OBJ_KW(npu_reserve_obj);

extern const mp_obj_type_t binding_pmu_type;

/** NPU.pmu() */
MP_DECLARE_CONST_FUN_OBJ_VAR(npu_pmu_obj);

/** Stop this handle's active PMU object, if any; it keeps its values. */
void pmu_stop(npu_obj_t *handle);

#endif
