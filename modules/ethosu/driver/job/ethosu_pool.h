// SPDX-License-Identifier: MIT
/** The list of NPUs, internal interface. */
#ifndef ETHOSU_POOL_H
#define ETHOSU_POOL_H

#include "ethosu_driver.h"
#include "driver/base/ethosu_sync.h"

/** A semaphore with count 0; NULL if none can be created. */
void *ethosu_ext_semaphore_get(void);

/** Keep a semaphore for reuse. */
void ethosu_ext_semaphore_recycle(void *semaphore);

/** Add to the list as free. @return 0, or an error */
int ethosu_ext_pool_add(struct ethosu_driver *drv, struct ethosu_ext_fault *fault);

/** A new, unique settings number; never 0. */
uint32_t ethosu_ext_new_settings(void);

/** Remove from the list; false if the handle was not in it. */
bool ethosu_ext_pool_remove(struct ethosu_driver *drv);

/**
 * Action of JOB_RELEASE: end the reservation and clear the word in one step, so that no inference
 * starts in between and a second release can't affect the next holder. Then offer the NPU.
 *
 * @param word  the expected word; updated if it has changed
 * @return      false: it has changed, and nothing was done
 */
bool ethosu_ext_pool_offer(struct ethosu_driver *drv, uint32_t *word);

/** Number of this NPU's reservation; another thread may end it with ethosu_release_driver(). */
static inline uint32_t ethosu_ext_reservation(const struct ethosu_driver *drv)
{
    return ETHOSU_EXT_GET(drv->reservation);
}

/** Fail all requests for NPUs that are no longer in the list. */
void ethosu_ext_pool_end_requests(void);

#endif
