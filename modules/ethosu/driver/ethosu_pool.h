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

#endif
