// SPDX-License-Identifier: MIT
/**
 * The word that says where an inference stands, who is on it and which one it is.
 *
 * Every step is one compare-and-swap of the whole word, so a step that was meant for one inference
 * never hits the next. A call that waits is counted in the word: as long as it has not left,
 * no inference can start on the handle and nobody else gets the NPU. So a call that waits gets the
 * result of the inference it waits for, or an error.
 */
#ifndef ETHOSU_JOB_H
#define ETHOSU_JOB_H

#include "ethosu_driver.h"
#include "ethosu_fault.h"

#define JOB_STATE 0xFFu /**< enum ethosu_job_state */
/* What the call that starts or ends the inference does besides; what the last call does that
 * leaves. */
#define JOB_CANCEL (1u << 8)  /**< end the inference as soon as it has started */
#define JOB_RELEASE (1u << 9) /**< offer the NPU to the next caller */
#define JOB_DEINIT (1u << 10) /**< switch the NPU off, give its semaphore back */
#define JOB_WAITER (1u << 11) /**< one call that waits */
#define JOB_WAITERS (31u * JOB_WAITER)
#define JOB_TAKEN 0xFFFFu     /**< any of these: no inference can start */
#define JOB_NUMBER (1u << 16) /**< counts the starts */

/** Until the next look at what another thread, or a slow NPU, is about to end: a millisecond. */
#define ETHOSU_EXT_SLICE (ETHOSU_EXT_SECOND / 1000 + (ETHOSU_EXT_SECOND % 1000 != 0))

static inline uint32_t ethosu_ext_job_word(const struct ethosu_driver *drv)
{
    return __atomic_load_n(&drv->job.word, __ATOMIC_SEQ_CST);
}

/** Where it stands. */
static inline enum ethosu_job_state ethosu_ext_job_state(uint32_t word)
{
    return (enum ethosu_job_state)(word & JOB_STATE);
}

/** The same word in another state. */
static inline uint32_t ethosu_ext_job_in_state(uint32_t word, enum ethosu_job_state state)
{
    return (word & ~JOB_STATE) | state;
}

/** Does the NPU work, or will it at once? */
static inline bool ethosu_ext_job_at_work(uint32_t word)
{
    return ethosu_ext_job_state(word) == ETHOSU_JOB_RUNNING ||
           ethosu_ext_job_state(word) == ETHOSU_JOB_STARTING;
}

/** Make a step; false, and `word` is what it is now: it was another. */
static inline bool ethosu_ext_job_step(struct ethosu_driver *drv, uint32_t *word, uint32_t to)
{
    return __atomic_compare_exchange_n(&drv->job.word, word, to, false, __ATOMIC_SEQ_CST,
                                       __ATOMIC_SEQ_CST);
}

/**
 * End the inference under way, and see that no other follows.
 *
 * @param flag  JOB_RELEASE: the NPU has stopped when this returns. JOB_DEINIT: somebody stops it.
 *              Either is left to the last call that is still on the handle
 * @return      false: no call is, and nothing was left to anybody
 */
bool ethosu_ext_job_leave_to_last(struct ethosu_driver *drv, uint32_t flag);

/**
 * Look at the word again and again, for some seconds, until another thread has left it.
 *
 * @param semaphore  to sleep on
 * @param all        until no call is on the handle; else until none starts or ends the inference
 * @return           false: it never will, if the caller is a hook of that very call
 */
bool ethosu_ext_job_look(const struct ethosu_driver *drv, void *semaphore, bool all);

/** What JOB_DEINIT stands for. */
void ethosu_ext_switch_off(struct ethosu_driver *drv);

#endif
