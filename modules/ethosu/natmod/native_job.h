// SPDX-License-Identifier: MIT
/**
 * What each NPU works on, and for which Python objects: the only record of it.
 *
 * Ctrl-C may end Python code between any two of its steps. So one native call begins a job
 * together with the reservation that it needs, and one call ends both.
 */
#ifndef NATIVE_JOB_H
#define NATIVE_JOB_H

#include <stdbool.h>

#include "native_arguments.h"

/** An inference of a model, or of a payload. All zero: none. */
struct native_job {
    mp_obj_t pinned;            /**< its ticket, a list of all that the NPU uses: see ethosu.py */
    uintptr_t ticket;           /**< which one that is; not traced, as `owner` */
    uintptr_t owner;            /**< which Model or NPU began it */
    struct ethosu_model *model; /**< NULL: a payload */
    const mp_buffer_info_t *arena; /**< of the model, as it was when that was loaded */
    bool reserved;                 /**< the NPU was reserved for this job alone */
    bool cancelled;                /**< a payload was cancelled, and wait() has not said so yet */
};

/** By index. The collector traces the variables of a native module. */
extern struct native_job native_jobs[PORT_NPUS];

/** Stop the job under way, if any, and free its NPU and memory. Returns 0 or why it failed. */
int native_job_stop(struct native_job *job);

/**
 * Raise OSError(EBUSY) when memory is in use by a job: of another model than this one, which may be
 * NULL, or of a payload.
 */
void native_job_check_memory(const struct ethosu_model *model, const void *start, size_t size);

/** Free the memory of a payload that has ended, and with it the handle, if the program lost it. */
void native_job_unpin(struct native_job *job);

/**
 * Index of the NPU that the guard of a handle holds. Raises OSError(EPERM) when it holds none, or
 * the handle has no guard any more: False.
 */
unsigned native_guard_npu(mp_obj_t guard);

/** Store the functions of native_job.c and of native_npu.c as globals of the module. */
void native_job_store(void);
void native_npu_store(void);

#endif
