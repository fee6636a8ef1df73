// SPDX-License-Identifier: MIT
/** The default interrupt handler, and all that runs in it. Keep this file to itself. */
#include "ethosu_ext.h"

#include "driver/device/device.h"
#include "driver/job/ethosu_job.h"

/** RUNNING or STARTING -> DONE; false if the inference of `word` has already been ended. */
static inline bool step_done(struct ethosu_driver *drv, uint32_t word)
{
    const uint32_t number = word / JOB_NUMBER;
    // If the inference ends before the give, another call may own the semaphore; it wakes
    // spuriously.
    void *semaphore = ETHOSU_EXT_GET(drv->semaphore);
    do {
        if (ethosu_ext_job_step(drv, &word, ethosu_ext_job_in_state(word, ETHOSU_JOB_DONE))) {
            ethosu_ext_job_wake(semaphore, word);
            return true;
        }
    } while (ethosu_ext_job_is_active(word) && word / JOB_NUMBER == number);
    return false;
}

/** Call the callback with its own argument, while a thread may be replacing both. */
static __attribute__((noinline)) void call_done(struct ethosu_driver *drv)
{
    void (*on_done)(struct ethosu_driver *drv, void *argument);
    void *argument;
    do { // an interrupt sees both or none; on another core they may change in between
        on_done = __atomic_load_n(&drv->on_done, __ATOMIC_ACQUIRE);
        argument = __atomic_load_n(&drv->on_done_argument, __ATOMIC_ACQUIRE);
    } while (on_done != ETHOSU_EXT_GET(drv->on_done));
    if (on_done != NULL) {
        on_done(drv, argument);
    }
}

__attribute__((weak)) void ethosu_irq_handler(struct ethosu_driver *drv)
{
    uint32_t word = ethosu_ext_job_word(drv);
    uint32_t status;
    enum ethosu_ext_interrupt came = ethosu_ext_device_acknowledge(&drv->dev, &status);
    if (came == ETHOSU_EXT_INTERRUPT_END && ethosu_ext_job_is_active(word)) {
        ethosu_ext_job_set_status(drv, status); // visible to any thread that sees DONE
        if (step_done(drv, word) && ETHOSU_EXT_GET(drv->on_done) != NULL) {
            call_done(drv);
        }
    } else if (came != ETHOSU_EXT_INTERRUPT_COUNTER) {
        ethosu_ext_add(&drv->spurious, 1);
    }
}
