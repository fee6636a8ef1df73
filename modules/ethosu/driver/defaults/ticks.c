// SPDX-License-Identifier: MIT
/**
 * Clock of firmware that supplies none: it counts how often it is asked. The driver asks once for
 * each look at what it waits for, so every time-out ends, though later than it says: this counts
 * a millisecond where a processor of 1 GHz has needed one. While it is in use the processor must
 * not sleep: see idle.c.
 */
#include "ethosu_board.h"

/** Looks in a millisecond: each takes some 30 instructions. */
#define LOOKS 32768u

const bool ethosu_ext_clock_counts_looks = true;

static uint32_t looks, milliseconds;

uint32_t ethosu_ext_board_ticks_ms(void)
{
    looks++;
    if (looks == LOOKS) {
        looks = 0;
        milliseconds++;
    }
    return milliseconds;
}
