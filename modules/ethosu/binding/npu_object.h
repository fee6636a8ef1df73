// SPDX-License-Identifier: MIT
/** Python class `ethosu.NPU`: what a Model that runs on a reserved NPU needs to know. */
#ifndef NPU_OBJECT_H
#define NPU_OBJECT_H

#include "binding.h"

typedef struct {
    mp_obj_base_t base;
    struct ethosu_driver *npu; /**< NULL: released */
    bool powered;              /**< clock and power stay on between inferences */
    bool cancelled;            /**< by cancel(), before wait() ended it; wait() says so once */
    struct pmu *pmu;           /**< who counts, see pmu_object.c; NULL: nobody */
    struct deadline deadline;
    struct ethosu_ext_program program;
    // What the running inference uses: the collector finds it here.
    mp_obj_t payload;
    mp_obj_t buffers[ETHOSU_EXT_MAX_BASES];
} npu_obj_t;

/** The handle, still reserved; raises when it was released. */
npu_obj_t *npu_reserved(mp_obj_t handle);

/** End what counts on this handle, if anything does; it keeps its values. */
#ifdef ETHOSU_NO_PMU
static inline void binding_pmu_stop(npu_obj_t *handle)
{
    (void)handle;
}
#else
void binding_pmu_stop(npu_obj_t *handle);
#endif

#endif
