// SPDX-License-Identifier: MIT
/**
 * The driver: NPU power, and the single inference per handle.
 *
 *           start                interrupt           wait
 *     IDLE -------> STARTING,     ------>    DONE   ------> ENDING -> IDLE
 *                   RUNNING                                   ^
 *                      |   time-out, cancel, release, reset   |
 *                      +--------------------------------------+
 *
 * The interrupt handler (ethosu_irq.c) makes the transition to DONE; threads make all others. Only
 * the thread that makes the transition to ENDING cleans up. An inference that
 * another thread is just starting or ending can't be ended directly: the request is
 * recorded in the job word (ethosu_job.h) and carried out by that thread. The word
 * is authoritative; the semaphore only wakes waiting calls.
 */
#include "ethosu_ext.h"

#include "driver/base/ethosu_build.h"
#include "ethosu_memory.h"
#include "driver/device/device.h"
#include "driver/base/ethosu_fault.h"
#include "driver/job/ethosu_job.h"
#include "driver/job/ethosu_power.h"
#include "driver/payload/ethosu_prepare.h"
#include "driver/base/ethosu_log.h"
#include "driver/job/ethosu_pool.h"
#include "driver/job/ethosu_streams.h"
#include "driver/base/ethosu_sync.h"

static RARE int fail(struct ethosu_driver *drv, int code, int index)
{
    return ethosu_ext_fail(&drv->fault, code, index);
}

/** Nothing is running or waiting any more: carry out the deferred actions. */
static RARE void run_deferred(struct ethosu_driver *drv, uint32_t word)
{
    while (!(word & JOB_DEINIT)) { // may be set concurrently
        if (ethosu_ext_pool_offer(drv, &word)) {
            return;
        }
    }
    ethosu_ext_switch_off(drv);
    while (!ethosu_ext_job_step(drv, &word, word & ~JOB_BUSY)) {
    }
}

/**
 * Leave a job that no thread is processing any more: to IDLE.
 *
 * @param counted  JOB_WAITER if this call was counted, else 0
 */
static RARE void leave(struct ethosu_driver *drv, uint32_t counted)
{
    uint32_t word = ethosu_ext_job_word(drv);
    uint32_t left;
    // Each leaving call wakes the others, as it may have taken their wake-up. With none left, a
    // deinit may clear it.
    ethosu_ext_job_wake(ETHOSU_EXT_GET(drv->semaphore), word - counted);
    do {
        left = ethosu_ext_job_in_state(word & ~JOB_CANCEL, ETHOSU_JOB_IDLE) - counted;
    } while (!ethosu_ext_job_step(drv, &word, left));
    if ((left & JOB_BUSY) != 0 && !(left & JOB_WAITERS)) {
        run_deferred(drv, left);
    }
}

/** The same for an uncounted call; `word` is the result of its own last transition. */
static inline void leave_uncounted(struct ethosu_driver *drv, uint32_t word)
{
    if ((word & JOB_BUSY & ~JOB_STATE) != 0 ||
        !ethosu_ext_job_step(drv, &word, ethosu_ext_job_in_state(word, ETHOSU_JOB_IDLE))) {
        leave(drv, 0);
    }
}

/**
 * Claim the handle for one inference: IDLE -> STARTING.
 *
 * @param counted  JOB_WAITER if this call will wait for it, else 0
 * @param word     set to the new word
 */
static inline int claim(struct ethosu_driver *drv, uint32_t counted, uint32_t *word)
{
    uint32_t free = ethosu_ext_job_word(drv) & ~JOB_BUSY;
    *word = (free + JOB_NUMBER) | counted | ETHOSU_JOB_STARTING;
    if (!ethosu_ext_job_step(drv, &free, *word)) {
        return fail(drv, ETHOSU_EXT_E_BUSY, -1);
    }
    // Check only now, because a release reads the word after it has cleared `reserved`.
    if (!__atomic_load_n(&drv->reserved, __ATOMIC_SEQ_CST)) {
        leave(drv, counted);
        return fail(drv, ETHOSU_EXT_E_NOT_RESERVED, -1);
    }
    return 0;
}

/** Drop the arguments of ethosu_invoke_*() when its inference has ended. */
static inline void forget_call(struct ethosu_job *job)
{
    if (ETHOSU_EXT_STREAMS == 0) {
        return;
    }
    job->custom_data_ptr = NULL;
    job->custom_data_size = 0;
    job->base_addr = NULL;
    job->base_addr_size = NULL;
    job->num_base_addr = 0;
}

/** Common end of all inferences: ENDING -> IDLE. The NPU has stopped. */
static inline void finish_job(struct ethosu_driver *drv, uint32_t word)
{
    ethosu_ext_invalidate_caches(drv->job.run);
    ethosu_io_barrier(); // the CPU must not read results earlier
    ethosu_inference_end(drv, drv->job.user_arg);
    ethosu_ext_release_power(drv);
    ETHOSU_EXT_LOG_DEBUG("end");
    if (ETHOSU_EXT_STREAMS != 0 && drv->job.custom_data_ptr != NULL) {
        forget_call(&drv->job);
    }
    leave_uncounted(drv, word);
}

/** Note why the NPU is stopped, with job.status; stop it, clear up: ENDING -> IDLE. */
static RARE int abort_job(struct ethosu_driver *drv, int code, uint64_t timeout)
{
    uint32_t qread = ethosu_io_read(drv->dev.reg, NPU_QREAD);
    struct ethosu_ext_fault why = {.code = code,
                                   .index = (int)qread,
                                   .found = ethosu_ext_milliseconds(timeout),
                                   .status = ETHOSU_EXT_GET(drv->job.status),
                                   .qread = qread};
    (void)ethosu_ext_report(&drv->fault, &why);
    bool late = code == ETHOSU_EXT_E_TIMEOUT || code == ETHOSU_EXT_E_IRQ_LOST;
    drv->job.result = late ? ETHOSU_JOB_RESULT_TIMEOUT : ETHOSU_JOB_RESULT_ERROR;

    struct ethosu_ext_fault reset_fault;
    int error = ethosu_ext_reset_npu(drv, &reset_fault);
    if (error != 0) {
        (void)ethosu_ext_report(&drv->fault, &reset_fault);
    }
    finish_job(drv, ethosu_ext_job_word(drv));
    return error;
}

static RARE int time_out(struct ethosu_driver *drv, uint64_t timeout)
{
    uint32_t status = ethosu_io_read(drv->dev.reg, NPU_STATUS);
    ethosu_ext_job_set_status(drv, status);
    bool finished = !(status & ETHOSU_EXT_STATUS_RUNNING);
    ETHOSU_EXT_SET(drv->timeouts, drv->timeouts + 1); // others read it
    (void)abort_job(drv, finished ? ETHOSU_EXT_E_IRQ_LOST : ETHOSU_EXT_E_TIMEOUT, timeout);
    return -1;
}

/** Get the result of an NPU that has finished: ENDING -> IDLE. */
static __attribute__((noinline)) int collect_result(struct ethosu_driver *drv, uint32_t word)
{
    if (__builtin_expect(!ethosu_ext_device_succeeded(&drv->dev, drv->job.status), 0)) {
        (void)abort_job(drv, ETHOSU_EXT_E_NPU_FAULT, 0);
        return -1;
    }
    finish_job(drv, word);
    return 0;
}

/** Stop the NPU: ENDING -> IDLE. */
static int stop(struct ethosu_driver *drv)
{
    ethosu_ext_job_set_status(drv, ethosu_io_read(drv->dev.reg, NPU_STATUS));
    return abort_job(drv, ETHOSU_EXT_E_CANCELLED, 0);
}

/**
 * The word has changed since the NPU was started: the NPU has already finished, or a thread has
 * requested a stop. STARTING -> RUNNING or ENDING.
 */
static RARE int look_again(struct ethosu_driver *drv, uint32_t word)
{
    const uint32_t number = word / JOB_NUMBER;
    word = ethosu_ext_job_word(drv);
    while (word / JOB_NUMBER == number) {
        bool starting = ethosu_ext_job_state(word) == ETHOSU_JOB_STARTING;
        bool cancelled = (word & JOB_CANCEL) != 0;
        if (!starting && !(ethosu_ext_job_state(word) == ETHOSU_JOB_DONE && cancelled)) {
            return 0; // may already have been ended by another thread
        }
        if (!cancelled &&
            ethosu_ext_job_step(drv, &word, ethosu_ext_job_in_state(word, ETHOSU_JOB_RUNNING))) {
            return 0;
        }
        if (cancelled &&
            ethosu_ext_job_step(drv, &word, ethosu_ext_job_in_state(word, ETHOSU_JOB_ENDING))) {
            (void)stop(drv);
            return ETHOSU_EXT_E_CANCELLED;
        }
    }
    return 0;
}

/** Start on a claimed handle: STARTING -> RUNNING, or back to IDLE on failure. */
static inline int launch(struct ethosu_driver *drv, const struct ethosu_ext_program *program,
                         void *user_arg, uint32_t word)
{
    ethosu_ext_clean_caches(program);
    int error = ethosu_ext_request_power(drv);
    if (error != 0) {
        forget_call(&drv->job);
        leave(drv, 0);
        return error;
    }
    ETHOSU_EXT_SET(drv->fault.code, ETHOSU_EXT_OK);
    drv->job.result = ETHOSU_JOB_RESULT_OK;
    ETHOSU_EXT_SET(drv->job.run, program);
    drv->job.user_arg = user_arg;
    ethosu_inference_begin(drv, user_arg);
    ETHOSU_EXT_LOG_DEBUG("start");
    ethosu_ext_device_start(&drv->dev, program);
    uint32_t found = word;
    bool runs = ethosu_ext_job_step(drv, &found, ethosu_ext_job_in_state(word, ETHOSU_JOB_RUNNING));
    return runs ? 0 : look_again(drv, word);
}

/** Leave a job ended by another thread. @return as ethosu_wait() */
static RARE int leave_ended(struct ethosu_driver *drv)
{
    int result = drv->job.result == ETHOSU_JOB_RESULT_OK ? 0 : -1;
    while (ethosu_semaphore_take(drv->semaphore, 0) >= 0) { // it was woken twice
    }
    leave(drv, JOB_WAITER);
    return result;
}

/** End an inference that has timed out: RUNNING -> ENDING; false if it is no longer running. */
static RARE bool take_late(struct ethosu_driver *drv)
{
    uint32_t word = ethosu_ext_job_word(drv);
    while (ethosu_ext_job_state(word) == ETHOSU_JOB_RUNNING) {
        if (ethosu_ext_job_step(drv, &word,
                                ethosu_ext_job_in_state(word, ETHOSU_JOB_ENDING) - JOB_WAITER)) {
            return true;
        }
    }
    return false;
}

/** Wait for the inference as a counted call. @return as ethosu_wait() */
static int wait_counted(struct ethosu_driver *drv, uint64_t timeout)
{
    bool woken = false;
    for (;;) {
        uint32_t word = ethosu_ext_job_word(drv);
        enum ethosu_job_state state = ethosu_ext_job_state(word);
        if (state == ETHOSU_JOB_RUNNING) {
            woken = ethosu_semaphore_take(drv->semaphore, timeout) >= 0;
            if (!woken && take_late(drv)) {
                return time_out(drv, timeout);
            }
        } else if (state == ETHOSU_JOB_DONE) {
            const uint32_t ending = ethosu_ext_job_in_state(word, ETHOSU_JOB_ENDING) - JOB_WAITER;
            if (ethosu_ext_job_step(drv, &word, ending)) {
                if (!woken) {
                    (void)ethosu_semaphore_take(drv->semaphore, 0);
                }
                return collect_result(drv, ending);
            }
        } else if (state == ETHOSU_JOB_IDLE) {
            return leave_ended(drv);
        } else if (!ethosu_ext_job_poll(drv, drv->semaphore, false) &&
                   ethosu_ext_job_step(drv, &word, word - JOB_WAITER)) {
            fail(drv, ETHOSU_EXT_E_BUSY, -1);
            return -1;
        }
    }
}

/** Wait as a counted call, or return a result that is ready. @return as ethosu_wait() */
static int wait_for(struct ethosu_driver *drv, const struct ethosu_ext_program *program,
                    uint64_t timeout)
{
    uint32_t word = ethosu_ext_job_word(drv);
    for (;;) {
        enum ethosu_job_state state = ethosu_ext_job_state(word);
        // The program is set from RUNNING on; the transition below fails if the word has changed
        // since.
        if (state == ETHOSU_JOB_IDLE || state == ETHOSU_JOB_STARTING ||
            (program != NULL && ETHOSU_EXT_GET(drv->job.run) != program)) {
            fail(drv, ETHOSU_EXT_E_NOT_STARTED, -1);
            return -2;
        }
        if (state == ETHOSU_JOB_DONE) {
            uint32_t ending = ethosu_ext_job_in_state(word, ETHOSU_JOB_ENDING);
            if (ethosu_ext_job_step(drv, &word, ending)) {
                return collect_result(drv, ending);
            }
        } else if (timeout == 0) {
            return 1;
        } else if ((word & JOB_WAITERS) == JOB_WAITERS) {
            fail(drv, ETHOSU_EXT_E_BUSY, -1);
            return -2;
        } else if (ethosu_ext_job_step(drv, &word, word + JOB_WAITER)) {
            return wait_counted(drv, timeout);
        }
    }
}

int ethosu_ext_wait(struct ethosu_driver *drv, uint64_t timeout)
{
    return wait_for(drv, NULL, timeout);
}

int ethosu_ext_wait_program(struct ethosu_driver *drv, const struct ethosu_ext_program *program,
                            uint64_t timeout)
{
    return wait_for(drv, program, timeout);
}

int ethosu_wait(struct ethosu_driver *drv, bool block)
{
    return wait_for(drv, NULL, block ? ETHOSU_EXT_GET(drv->timeout) : 0);
}

RARE int ethosu_ext_cancel(struct ethosu_driver *drv)
{
    uint32_t word = ethosu_ext_job_word(drv);
    for (;;) {
        enum ethosu_job_state state = ethosu_ext_job_state(word);
        if (state == ETHOSU_JOB_IDLE) {
            return 0;
        }
        if (state == ETHOSU_JOB_RUNNING || state == ETHOSU_JOB_DONE) {
            if (!ethosu_ext_job_step(drv, &word,
                                     ethosu_ext_job_in_state(word, ETHOSU_JOB_ENDING))) {
                continue;
            }
            if (state == ETHOSU_JOB_RUNNING) {
                return stop(drv);
            }
            (void)collect_result(drv, ethosu_ext_job_word(drv));
            return 0;
        }
        // The starting thread will stop it, or the ending thread is already doing so.
        if (state == ETHOSU_JOB_ENDING || ethosu_ext_job_step(drv, &word, word | JOB_CANCEL)) {
            return fail(drv, ETHOSU_EXT_E_BUSY, -1);
        }
    }
}

RARE int ethosu_soft_reset(struct ethosu_driver *drv)
{
    uint32_t word = ethosu_ext_job_word(drv) & ~JOB_BUSY;
    if (!ethosu_ext_job_step(drv, &word, ethosu_ext_job_in_state(word, ETHOSU_JOB_ENDING))) {
        return ethosu_ext_cancel(drv) == 0 ? 0 : -1;
    }
    drv->job.result = ETHOSU_JOB_RESULT_ERROR; // for a call waiting for the reset to finish
    int error = ethosu_ext_reset_idle(drv);
    leave(drv, 0);
    return error == 0 ? 0 : -1;
}

RARE bool ethosu_ext_job_defer(struct ethosu_driver *drv, uint32_t flag)
{
    uint32_t word = ethosu_ext_job_word(drv);
    while (word & JOB_BUSY) {
        enum ethosu_job_state state = ethosu_ext_job_state(word);
        if (state == ETHOSU_JOB_RUNNING || state == ETHOSU_JOB_DONE) {
            (void)ethosu_ext_cancel(drv);
            word = ethosu_ext_job_word(drv);
            continue;
        }
        // The NPU may run until another thread has stopped it, so a release waits for that.
        bool waits =
            flag == JOB_RELEASE && state != ETHOSU_JOB_IDLE && (word & JOB_WAITERS) != JOB_WAITERS;
        if (ethosu_ext_job_step(drv, &word, (word | flag | JOB_CANCEL) + waits * JOB_WAITER)) {
            if (waits) {
                (void)wait_counted(drv, 0);
            }
            return true;
        }
    }
    return false;
}

RARE void ethosu_ext_switch_off(struct ethosu_driver *drv)
{
    if (drv->power_request_counter > 0) {
        ethosu_ext_power_down(drv);
    }
    ethosu_ext_semaphore_recycle(drv->semaphore);
    ETHOSU_EXT_SET(drv->semaphore, NULL);
}

/**
 * Start a prepared inference.
 *
 * @param counted  as for claim(); the call is no longer counted if this fails
 * @return         0, or an error
 */
static __attribute__((noinline)) int start(struct ethosu_driver *drv,
                                           const struct ethosu_ext_program *program, void *user_arg,
                                           uint32_t counted)
{
    if (program->owner != drv) {
        return fail(drv, ETHOSU_EXT_E_OTHER_NPU, -1);
    }
    uint32_t word;
    RETURN_IF_ERROR(claim(drv, counted, &word));
    int error = launch(drv, program, user_arg, word);
    if (error != 0 && counted != 0) {
        leave(drv, counted);
    }
    return error;
}

int ethosu_ext_start(struct ethosu_driver *drv, const struct ethosu_ext_program *program,
                     void *user_arg)
{
    return start(drv, program, user_arg, 0);
}

int ethosu_ext_run(struct ethosu_driver *drv, const struct ethosu_ext_program *program,
                   void *user_arg, uint64_t timeout)
{
    // Counted from the start, as in ethosu_invoke_v3().
    return start(drv, program, user_arg, JOB_WAITER) == 0 ? wait_counted(drv, timeout) : -1;
}

#if ETHOSU_EXT_STREAMS
/**
 * Start an inference of ethosu_invoke_*(), whose arguments the job keeps.
 *
 * @param counted  as for claim(); the call is no longer counted if this fails
 * @return         0, or -1
 */
static inline int invoke(struct ethosu_driver *drv, const void *payload, int size,
                         const uint64_t *base, const size_t *base_size, int count, void *user_arg,
                         uint32_t counted)
{
    uint32_t word;
    if (claim(drv, counted, &word) != 0) {
        return -1;
    }
    struct ethosu_job *job = &drv->job;
    job->custom_data_ptr = payload;
    job->custom_data_size = size > 0 ? size : 0;
    job->base_addr = base;
    job->base_addr_size = base_size;
    job->num_base_addr = count;
    const struct ethosu_ext_program *program = ethosu_ext_stream_find(drv);
    if (program == NULL) {
        forget_call(job);
        leave(drv, 0);
    } else if (launch(drv, program, user_arg, word) == 0) {
        return 0;
    }
    if (counted != 0) {
        leave(drv, counted);
    }
    return -1;
}

int ethosu_invoke_async(struct ethosu_driver *drv, const void *custom_data_ptr,
                        const int custom_data_size, uint64_t *const base_addr,
                        const size_t *base_addr_size, const int num_base_addr, void *user_arg)
{
    return invoke(drv, custom_data_ptr, custom_data_size, base_addr, base_addr_size, num_base_addr,
                  user_arg, 0);
}

int ethosu_invoke_v3(struct ethosu_driver *drv, const void *custom_data_ptr,
                     const int custom_data_size, uint64_t *const base_addr,
                     const size_t *base_addr_size, const int num_base_addr, void *user_arg)
{
    if (drv == NULL) {
        return ethosu_invoke_auto(custom_data_ptr, custom_data_size, base_addr, base_addr_size,
                                  num_base_addr, user_arg);
    }
    // Counted from the start, so that no other inference can start on this handle until this call
    // ends.
    int error = invoke(drv, custom_data_ptr, custom_data_size, base_addr, base_addr_size,
                       num_base_addr, user_arg, JOB_WAITER);
    return error == 0 ? wait_counted(drv, ETHOSU_EXT_GET(drv->timeout)) : -1;
}
#endif
