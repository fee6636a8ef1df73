// SPDX-License-Identifier: MIT
/**
 * Lets the caller stop long work: loading, running the steps, and the loops of CPU operators. They
 * count units of work and call the caller's function every POLL_UNITS.
 */
#ifndef POLLING_H
#define POLLING_H

#include <stdbool.h>
#include <stdint.h>

/**
 * Units of work between two polls. A unit is the work of an operator's loop for one element, at
 * most about 100 instructions.
 */
#ifndef POLL_UNITS
#define POLL_UNITS 8192
#endif

struct poll {
    int32_t left;                 /**< units until the next poll */
    bool stopped;                 /**< until the inference has ended */
    bool (*stop)(void *argument); /**< NULL if work cannot be stopped */
    void *argument;
};

/** Poll now: must the work stop? */
bool poll_now(struct poll *poll);

/** Count work; must it stop? Once stopped, returns true whenever there is work. */
static inline bool poll_stops(struct poll *poll, int32_t units)
{
    poll->left -= units;
    return poll->left < 0 && poll_now(poll);
}

#endif
