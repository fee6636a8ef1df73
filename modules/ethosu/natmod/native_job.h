// SPDX-License-Identifier: MIT
/**
 * The only record of each NPU's current job and of the Python objects that it serves.
 *
 * Ctrl-C may interrupt Python code between any two steps. One native call therefore reserves the
 * NPU and starts the job, and one call ends both.
 */
#ifndef NATIVE_JOB_H
#define NATIVE_JOB_H

#include <stdbool.h>

#include "native_arguments.h"

/** An inference of a model or of a payload. All zero if there is no job. */
struct native_job {
    mp_obj_t pinned;  /**< its ticket, a list of the objects that the NPU uses: see ethosu.py */
    uintptr_t ticket; /**< identifies the ticket; not traced, like `owner` */
    uintptr_t owner;  /**< the Model or NPU that started it */
    struct ethosu_model *model;    /**< NULL: a payload */
    const mp_buffer_info_t *arena; /**< of the model, at load time */
    bool reserved;                 /**< the NPU was reserved only for this job */
    bool cancelled; /**< a payload was cancelled, and wait() has not reported it yet */
};

/** By index. The collector traces the variables of a native module. */
extern struct native_job native_jobs[NATMOD_NPUS];

/** Stop the current job, if any, and free its NPU and memory. Returns 0 or an error. */
int native_job_stop(struct native_job *job);

/**
 * Raise OSError(EBUSY) if memory is in use by a job of a payload, or of another model than this
 * one, which may be NULL.
 */
void native_job_check_memory(const struct ethosu_model *model, const void *start, size_t size);

/**
 * Before a collection: free the memory of a completed payload, and also its handle if the program
 * has dropped it.
 */
void native_job_unpin(struct native_job *job);

/**
 * Index of the NPU held by the guard of a handle. Raises OSError(EPERM) if it does not hold one, or
 * if the handle no longer has a guard (False).
 */
unsigned native_guard_npu(mp_obj_t guard);

/** Store the functions of native_job.c and of native_npu.c as globals of the module. */
void native_job_register(void);
void native_npu_register(void);

#endif
