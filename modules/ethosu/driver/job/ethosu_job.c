// SPDX-License-Identifier: MIT
/** Waits for other threads by the job word. */
#include "driver/job/ethosu_job.h"

#include "driver/device/device.h"

/** Number of polls, about 1 ms apart, for other threads to leave. */
#define MAX_POLLS 5000

bool ethosu_ext_job_poll(const struct ethosu_driver *drv, void *semaphore, bool all)
{
    for (int i = 0; i < MAX_POLLS; i++) {
        (void)ethosu_semaphore_take(semaphore, ETHOSU_EXT_SLICE);
        uint32_t word = ethosu_ext_job_word(drv);
        if (all ? !(word & JOB_BUSY) : ethosu_ext_job_state(word) <= ETHOSU_JOB_DONE) {
            return true;
        }
    }
    return false;
}
