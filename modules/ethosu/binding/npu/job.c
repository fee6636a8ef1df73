// SPDX-License-Identifier: MIT
/** Jobs: time-outs, states, pinned objects, callbacks; see job.h. */
#include "binding/npu/job.h"

#include "binding/call/raise.h"
#include "ethosu_board.h"
#include "py/gc.h"
#include "py/mperrno.h"
#include "py/stream.h"

/* ---- time-outs ---- */

uint64_t deadline_left(const struct deadline *deadline)
{
    uint32_t elapsed = ethosu_ext_board_ticks_ms() - deadline->start_ms;
    if (deadline->timeout == ETHOSU_SEMAPHORE_WAIT_FOREVER) {
        return deadline->timeout;
    }
    return elapsed < deadline->timeout ? deadline->timeout - elapsed : 1;
}

bool deadline_is_over(const struct deadline *deadline)
{
    return ethosu_ext_board_ticks_ms() - deadline->start_ms >= deadline->timeout;
}

__attribute__((weak)) void ethosu_ext_board_alarm(uint32_t ms)
{
    (void)ms;
}

mp_uint_t deadline_poll(const struct deadline *deadline, const struct ethosu_driver *npu,
                        mp_uint_t request, uintptr_t flags, int *error)
{
    if (request != MP_STREAM_POLL) {
        *error = MP_EINVAL;
        return MP_STREAM_ERROR;
    }
    if (npu == NULL || !ethosu_ext_is_running(npu) || deadline_is_over(deadline)) {
        return flags & MP_STREAM_POLL_RD;
    }
    // The caller may sleep until the next interrupt now: select() does not know of the time-out.
    uint64_t left = deadline_left(deadline);
    if (left < UINT32_MAX) {
        ethosu_ext_board_alarm((uint32_t)left);
    }
    return 0;
}

/* ---- jobs ---- */

struct npu binding_npus[BINDING_MAX_NPUS];

size_t npus_index(const struct ethosu_driver *npu)
{
    return (size_t)((const struct npu *)npu - binding_npus);
}

/** Objects in use by each NPU: roots of the collector. */
MP_REGISTER_ROOT_POINTER(mp_obj_t ethosu_pinned[4]);
/** Completion callback of each NPU, and its argument. */
MP_REGISTER_ROOT_POINTER(mp_obj_t ethosu_callback[4]);
MP_REGISTER_ROOT_POINTER(mp_obj_t ethosu_callback_argument[4]);
_Static_assert(BINDING_MAX_NPUS == 4, "the root pointers have one entry for each NPU");

bool job_reap_abandoned(struct ethosu_driver *npu)
{
    // A callback may run while the event loop sleeps, in which case its jobs are not abandoned.
    if (MP_STATE_VM(sched_state) == MP_SCHED_LOCKED) {
        return false;
    }
    // Without `_ethosu` no task has a job.
    mp_map_t *modules = &MP_STATE_VM(mp_loaded_modules_dict).map;
    const mp_map_elem_t *module =
        mp_map_lookup(modules, MP_OBJ_NEW_QSTR(MP_QSTR__ethosu), MP_MAP_LOOKUP);
    if (module == NULL) {
        return false;
    }
    // A callback that ran here would meet the caller's object between two states.
    nlr_buf_t nlr;
    mp_sched_lock();
    if (nlr_push(&nlr) == 0) {
        mp_obj_t drop = mp_load_attr(module->value, MP_QSTR_drop_abandoned);
        bool dropped =
            mp_obj_is_true(mp_call_function_1(drop, MP_OBJ_NEW_SMALL_INT(npus_index(npu))));
        nlr_pop();
        mp_sched_unlock();
        return dropped;
    }
    mp_sched_unlock();
    nlr_jump(nlr.ret_val);
}

int job_stop(struct ethosu_driver *npu)
{
    struct job *job = job_of(npu);
    if (job->wait == JOB_STOPPED) {
        return 0; // the waiting code cleans up
    }
    int error = ethosu_ext_cancel(npu);
    if (job->wait == JOB_WAITING) {
        job->wait = JOB_STOPPED;
    } else if (job->owner != NULL) {
        void *owner = job->owner;
        job_pin(npu, MP_OBJ_NULL, NULL);
        job_end(npu);
        job->on_stop(owner);
    }
    return error;
}

void job_reap_late(struct ethosu_driver *npu)
{
    const struct deadline *deadline = job_of(npu)->deadline;
    if (deadline != NULL && job_of(npu)->wait == JOB_NO_WAIT && deadline_is_over(deadline)) {
        (void)job_stop(npu);
        job_drop(npu);
    }
}

void job_reap(struct ethosu_driver *npu)
{
    const struct job *job = job_of(npu);
    job_reap_late(npu);
    if (job->owner != NULL && job->wait == JOB_NO_WAIT && !ethosu_ext_is_running(npu)) {
        gc_collect(); // the finaliser of a model that the program has lost ends its job
    }
    bool idle = job->owner == NULL && job->wait == JOB_NO_WAIT;
    if (!idle && (job->wait != JOB_NO_WAIT || !job_reap_abandoned(npu))) {
        binding_raise_os_error(MP_EBUSY, "the NPU is busy: wait for it, or cancel() it");
    }
}

/** Called by the scheduler, some time after on_done(). */
static void run_callback(mp_sched_node_t *node)
{
    struct ethosu_driver *npu = (void *)((uint8_t *)node - offsetof(struct npu, job));
    size_t index = npus_index(npu);
    mp_obj_t callback = MP_STATE_VM(ethosu_callback)[index];
    mp_obj_t argument = MP_STATE_VM(ethosu_callback_argument)[index];
    // An inference that was ended since may have queued this call while the next one runs.
    if (callback != MP_OBJ_NULL && !ethosu_ext_is_running(npu)) {
        job_set_callback(npu, MP_OBJ_NULL, MP_OBJ_NULL);
        // Queued, so that a callback that starts the next inference leaves time for others.
        if (!mp_sched_schedule(callback, argument)) {
            mp_call_function_1_protected(callback, argument);
        }
    }
}

/**
 * The NPU has finished. Called by the interrupt handler.
 *
 * A program that does not block for an inference may be sleeping, e.g. in select.poll(). Scheduling
 * wakes the port even if there is no callback to run.
 */
static void on_done(struct ethosu_driver *npu, void *unused)
{
    (void)unused;
    size_t index = npus_index(npu);
    if (MP_STATE_VM(ethosu_pinned)[index] != MP_OBJ_NULL) {
        MP_STATE_VM(ethosu_pinned)[index] = MP_OBJ_NULL;
        job_of(npu)->deadline = NULL;
        mp_sched_schedule_node(&job_of(npu)->node, run_callback);
    }
}

void job_pin(struct ethosu_driver *npu, mp_obj_t object, const struct deadline *deadline)
{
    job_of(npu)->deadline = deadline;
    MP_STATE_VM(ethosu_pinned)[npus_index(npu)] = object;
    ethosu_ext_on_done(npu, object == MP_OBJ_NULL ? NULL : on_done, NULL);
}

void job_set_callback(struct ethosu_driver *npu, mp_obj_t callback, mp_obj_t argument)
{
    size_t index = npus_index(npu);
    MP_STATE_VM(ethosu_callback)[index] = callback;
    MP_STATE_VM(ethosu_callback_argument)[index] = argument;
}

void job_drop(struct ethosu_driver *npu)
{
    job_pin(npu, MP_OBJ_NULL, NULL);
    job_set_callback(npu, MP_OBJ_NULL, MP_OBJ_NULL);
}

void job_deinit(struct ethosu_driver *npu)
{
    MP_STATE_VM(ethosu_pinned)[npus_index(npu)] = MP_OBJ_NULL;
    job_set_callback(npu, MP_OBJ_NULL, MP_OBJ_NULL);
    // The scheduler's queue ends with the interpreter, so its node is free again.
    *job_of(npu) = (struct job){.owner = NULL};
}
