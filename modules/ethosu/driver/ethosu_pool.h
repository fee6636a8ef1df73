// SPDX-License-Identifier: MIT
/** The list of NPUs, as the driver's other files need it. */
#ifndef ETHOSU_POOL_H
#define ETHOSU_POOL_H

#include "ethosu_driver.h"

/** A semaphore that counts 0; NULL: none can be made. */
void *ethosu_ext_semaphore_take_one(void);

/** A semaphore is not needed any more: keep it for the next. */
void ethosu_ext_semaphore_keep(void *semaphore);

/** Take part in the list, free to be reserved. @return 0, or why not */
int ethosu_ext_pool_add(struct ethosu_driver *drv, struct ethosu_ext_fault *fault);

/** A number that no settings of a handle had before; never 0. */
uint32_t ethosu_ext_new_settings(void);

/** Leave the list; false when the handle was not in it. */
bool ethosu_ext_pool_remove(struct ethosu_driver *drv);

/**
 * What JOB_RELEASE stands for: end the reservation and take everything from the word at once, so
 * that nobody starts in between and no second release finds the next holder. Then offer the NPU.
 *
 * @param word  what it was; set to what it is if that has changed
 * @return      false: it has changed, and nothing was done
 */
bool ethosu_ext_pool_offer(struct ethosu_driver *drv, uint32_t *word);

/** Which reservation of this NPU it is; another thread may end it: ethosu_release_driver(). */
static inline uint32_t ethosu_ext_reservation(const struct ethosu_driver *drv)
{
    return __atomic_load_n(&drv->reservation, __ATOMIC_RELAXED);
}

/** Refuse all who wait for an NPU that is not in the list any more. */
void ethosu_ext_pool_end_requests(void);

#endif
