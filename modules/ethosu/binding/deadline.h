// SPDX-License-Identifier: MIT
/** How long an inference may take. */
#ifndef DEADLINE_H
#define DEADLINE_H

#include "ethosu_ext.h"
#include "py/obj.h"

struct deadline {
    uint32_t begun;   /**< ethosu_ext_board_ticks_ms() at the start */
    uint64_t timeout; /**< milliseconds, or ETHOSU_SEMAPHORE_WAIT_FOREVER */
};

/** Milliseconds that are left, at least 1, since a wait of 0 does not wait. */
uint64_t deadline_left(const struct deadline *deadline);

/** Is the time up? */
bool deadline_is_over(const struct deadline *deadline);

/**
 * Result for select.poll(): readable when the NPU has finished, or its time is up.
 *
 * @param npu  NULL: no inference is under way
 */
mp_uint_t deadline_poll(const struct deadline *deadline, const struct ethosu_driver *npu,
                        mp_uint_t request, uintptr_t flags, int *error);

#endif
