// SPDX-License-Identifier: MIT
/**
 * The job word: state, waiters and number of an inference.
 *
 * Every transition is a compare-and-swap of the whole word, so a transition meant for one inference
 * never affects the next. The word counts waiting calls. Until they have returned, no inference can
 * start on the handle and the NPU is not reassigned, so a waiting call gets the result of its own
 * inference, or an error.
 */
#ifndef ETHOSU_JOB_H
#define ETHOSU_JOB_H

#include "ethosu_driver.h"
#include "driver/base/ethosu_fault.h"
#include "driver/base/ethosu_sync.h"

#define JOB_STATE 0xFFu /**< enum ethosu_job_state */
/* Deferred to the call that starts or ends the inference, or to the last call on the handle. */
#define JOB_CANCEL (1u << 8)  /**< end the inference as soon as it has started */
#define JOB_RELEASE (1u << 9) /**< offer the NPU to the next caller */
#define JOB_DEINIT (1u << 10) /**< switch the NPU off, give its semaphore back */
#define JOB_WAITER (1u << 11) /**< one waiting call */
#define JOB_WAITERS (31u * JOB_WAITER)
#define JOB_BUSY 0xFFFFu      /**< any bit set: no inference can start */
#define JOB_NUMBER (1u << 16) /**< counts the starts */

static inline uint32_t ethosu_ext_job_word(const struct ethosu_driver *drv)
{
    return __atomic_load_n(&drv->job.word, __ATOMIC_SEQ_CST);
}

/** State of the inference. */
static inline enum ethosu_job_state ethosu_ext_job_state(uint32_t word)
{
    return (enum ethosu_job_state)(word & JOB_STATE);
}

/** The word with a different state. */
static inline uint32_t ethosu_ext_job_in_state(uint32_t word, enum ethosu_job_state state)
{
    return (word & ~JOB_STATE) | state;
}

/** Is the NPU running or about to run? */
static inline bool ethosu_ext_job_is_active(uint32_t word)
{
    return ethosu_ext_job_state(word) == ETHOSU_JOB_RUNNING ||
           ethosu_ext_job_state(word) == ETHOSU_JOB_STARTING;
}

/** Make a transition; false if the word has changed, and `word` is then set to its value. */
static inline bool ethosu_ext_job_step(struct ethosu_driver *drv, uint32_t *word, uint32_t to)
{
    return __atomic_compare_exchange_n(&drv->job.word, word, to, false, __ATOMIC_SEQ_CST,
                                       __ATOMIC_SEQ_CST);
}

/** May run concurrently in the interrupt handler and in the thread that stops the NPU. */
static inline void ethosu_ext_job_set_status(struct ethosu_driver *drv, uint32_t status)
{
    ETHOSU_EXT_SET(drv->job.status, status);
}

/** Wake the calls waiting for the inference. */
static inline void ethosu_ext_job_wake(void *semaphore, uint32_t word)
{
    for (uint32_t left = word & JOB_WAITERS; left != 0; left -= JOB_WAITER) {
        (void)ethosu_semaphore_give(semaphore);
    }
}

/**
 * End the current inference and block new ones, deferring `flag` to the last call on the handle.
 *
 * @param flag  JOB_RELEASE: the NPU has stopped when this returns. JOB_DEINIT: a thread will stop
 * it
 * @return      false: no call is on the handle, and nothing was deferred
 */
bool ethosu_ext_job_defer(struct ethosu_driver *drv, uint32_t flag);

/**
 * Poll the word for a few seconds, until other threads have left it.
 *
 * @param semaphore  to sleep on
 * @param all        wait for all calls on the handle; else only for one that starts or ends the
 *                   inference
 * @return           false: still in use, which never ends if the caller is a hook of that call
 */
bool ethosu_ext_job_poll(const struct ethosu_driver *drv, void *semaphore, bool all);

/** Action of JOB_DEINIT. */
void ethosu_ext_switch_off(struct ethosu_driver *drv);

#endif
