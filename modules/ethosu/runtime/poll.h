// SPDX-License-Identifier: MIT
/**
 * Long work asks now and then whether it must stop: loading, the walk over the steps, and the loops
 * of CPU operators. They count what they do, and every POLL_UNITS the caller's function is asked.
 */
#ifndef POLL_H
#define POLL_H

#include <stdbool.h>
#include <stdint.h>

/**
 * Units of work between two questions. A unit is what a loop of an operator does for one element:
 * at most some 100 instructions.
 */
#ifndef POLL_UNITS
#define POLL_UNITS 8192
#endif

struct poll {
    int32_t left;                 /**< units until the next question */
    bool stopped;                 /**< until the inference has ended */
    bool (*stop)(void *argument); /**< NULL: nothing stops it */
    void *argument;
};

/** Ask: must the work stop? */
bool poll_now(struct poll *poll);

/** Count work; must it stop? Once stopped, it says so each time that there is work. */
static inline bool poll_stops(struct poll *poll, int32_t units)
{
    poll->left -= units;
    return poll->left < 0 && poll_now(poll);
}

#endif
