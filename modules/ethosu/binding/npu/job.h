// SPDX-License-Identifier: MIT
/**
 * The NPUs of the board, and the job of each: the inference of a model, or a payload of a handle.
 * The state machine in job.c stops a job and notifies its owner and the code that waits for it.
 *
 *               job_wait()            job_stop(), by a callback
 *     NO_WAIT ------------> WAITING ---------------------------> STOPPED
 *        ^                     |                                    |
 *        +---------------------+---------- job_end_wait() ----------+
 *
 * While C code waits for the NPU, MicroPython's scheduler runs callbacks. A callback may stop the
 * job, but not start another: the waiting code would mistake it for its own. So a stop during a
 * wait only ends the wait, and the waiting code cleans up. A stop at any other time cleans up
 * immediately.
 */
#ifndef JOB_H
#define JOB_H

#include <stdbool.h>
#include "binding/call/events.h"
#include "ethosu_ext.h"
#include "py/obj.h"
#include "py/runtime.h"

/* ---- time-outs ---- */

/** Deadline of an inference. */
struct deadline {
    uint32_t start_ms; /**< ethosu_ext_board_ticks_ms() at the start */
    uint64_t timeout;  /**< milliseconds, or ETHOSU_SEMAPHORE_WAIT_FOREVER */
};

/** Milliseconds that are left, at least 1, since a wait of 0 does not wait. */
uint64_t deadline_left(const struct deadline *deadline);

/** Is the time up? */
bool deadline_is_over(const struct deadline *deadline);

/**
 * Result for select.poll(): readable when the NPU has finished or timed out.
 *
 * @param npu  NULL if no inference is running
 */
mp_uint_t deadline_poll(const struct deadline *deadline, const struct ethosu_driver *npu,
                        mp_uint_t request, uintptr_t flags, int *error);

/* ---- jobs ---- */

enum job_wait {
    JOB_NO_WAIT, /**< no C code waits for this NPU */
    JOB_WAITING, /**< C code waits for it, inside the driver */
    JOB_STOPPED, /**< a callback stopped the job; the C code waiting for it has not returned yet */
};

struct job {
    mp_sched_node_t node; /**< must be first: the scheduler passes it to job.c */
    void *owner;          /**< the model that runs; weak, no root of the collector; or NULL */
    void (*on_stop)(void *owner); /**< notifies the owner that its job was stopped */
    enum job_wait wait;
    const struct deadline
        *volatile deadline; /**< of the pinned object's inference; NULL if no object is pinned */
};

/** An NPU that the module serves. */
struct npu {
    struct ethosu_driver driver; /**< must be first: job_of() casts it to this struct */
    struct job job;
    bool ready; /**< ethosu_init() succeeded */
};

/** The board's NPUs, set up by npus.c. */
extern struct npu binding_npus[];

/** Position of an NPU in npus(). */
size_t npus_index(const struct ethosu_driver *npu);

static inline struct job *job_of(struct ethosu_driver *npu)
{
    return &((struct npu *)npu)->job;
}

/** A model starts an inference: after a stop, job_stop() calls `on_stop(owner)`. */
static inline void job_begin(struct ethosu_driver *npu, void *owner, void (*on_stop)(void *owner))
{
    job_of(npu)->owner = owner;
    job_of(npu)->on_stop = on_stop;
}

/** The owner's job has ended. */
static inline void job_end(struct ethosu_driver *npu)
{
    job_of(npu)->owner = NULL;
}

/** To be called before and after each wait for the NPU. */
static inline void job_wait(struct ethosu_driver *npu)
{
    job_of(npu)->wait = JOB_WAITING;
}

static inline void job_end_wait(struct ethosu_driver *npu)
{
    job_of(npu)->wait = JOB_NO_WAIT;
}

/** Stop this NPU's job, notify its owner and the waiting code; returns enum ethosu_ext_error. */
int job_stop(struct ethosu_driver *npu);

/**
 * Stop the job of an asyncio task if no event loop is running, since nothing else would end it.
 *
 * @return  false if there is no job to stop
 */
bool job_reap_abandoned(struct ethosu_driver *npu);

/**
 * Stop this NPU's job if it has timed out and no C code waits for it. The program may no longer
 * have the model or handle, and nothing else would end the job.
 */
void job_reap_late(struct ethosu_driver *npu);

/**
 * End the job of a model if nothing else would, because it has timed out, its model is unreachable,
 * or its event loop has ended. Raises OSError(EBUSY) if it still runs. May run the collector.
 */
void job_reap(struct ethosu_driver *npu);

/** Raise OSError(EBUSY) if a model runs on this NPU, or C code waits for it. */
static inline void job_check_idle(struct ethosu_driver *npu)
{
    const struct job *job = job_of(npu);
    if (job->owner != NULL || job->wait != JOB_NO_WAIT) {
        job_reap(npu);
    }
}

/**
 * Keep an object alive until the NPU has finished or timed out.
 * MP_OBJ_NULL to unpin it.
 *
 * @param deadline  in the object
 */
void job_pin(struct ethosu_driver *npu, mp_obj_t object, const struct deadline *deadline);

/**
 * Schedule `callback(argument)` for when the NPU has finished the job of the
 * pinned object. MP_OBJ_NULL for no callback. Exceptions in the callback are
 * printed.
 */
void job_set_callback(struct ethosu_driver *npu, mp_obj_t callback, mp_obj_t argument);

/** After a job has ended or was stopped: unpin its object and remove its callback. */
void job_drop(struct ethosu_driver *npu);

/** Clear the job of an NPU after ethosu_deinit(). */
void job_deinit(struct ethosu_driver *npu);

/* ---- the NPUs of the board ---- */

/** Initialise the board's NPUs; those that are ready already stay as they are. */
void npus_init(void);

/** For soft reset, and before the machine is reset: no NPU works in memory after this. */
void ethosu_deinit_all(void);

/** The NPU selected by an argument: None (the first), an index, or a config's name. Raises. */
struct ethosu_driver *npus_choose(mp_obj_t which);

/** Raise ValueError: a model is for another NPU than the reason names; lists several NPUs. */
_Noreturn void npus_raise_wrong(const char *reason);

/** Is a job running on any NPU? */
bool npus_are_busy(void);

/** Reserve this NPU, waiting for up to `timeout` milliseconds. Raises. */
void npus_reserve(struct ethosu_driver *npu, uint64_t timeout);

/** npus(): the configs of the board's NPUs. */
MP_DECLARE_CONST_FUN_OBJ_0(npus_obj);

#endif
