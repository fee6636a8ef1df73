// SPDX-License-Identifier: MIT
/**
 * Clock, sleep and log of firmware that supplies none; only for an archive: see README.md.
 *
 * The clock counts how often it is asked. The driver asks once for each look at what it waits for,
 * so every time-out ends, though later than it says: a millisecond is counted where a processor of
 * 1 GHz has needed one. While this clock is in use the processor must not sleep.
 */
#include "ethosu_board.h"
#include "ethosu_ext.h"
#include "ethosu_log.h"

#include <stdio.h>

/** Looks in a millisecond: each takes some 30 instructions. */
#define LOOKS 32768u

static uint32_t count_looks(void)
{
    static uint32_t looks, milliseconds;
    looks++;
    if (looks == LOOKS) {
        looks = 0;
        milliseconds++;
    }
    return milliseconds;
}

__attribute__((weak, alias("count_looks"))) uint32_t ethosu_ext_board_ticks_ms(void);

__attribute__((weak)) void ethosu_ext_board_idle(const volatile uint32_t *flag)
{
    if (*flag == 0 && ethosu_ext_board_ticks_ms != count_looks) {
        // An exception that came between the look and here has set the event register, so that WFE
        // does not wait (Armv8-M Architecture Reference Manual, WFE).
#ifdef __arm__
        __asm volatile("wfe" ::: "memory");
#endif
    }
}

#if ETHOSU_LOG_SEVERITY >= ETHOSU_LOG_ERR
__attribute__((weak)) void ethosu_ext_log(int severity, const char *text)
{
    (void)severity;
    printf("ethosu: %s\n", text);
}
#endif
