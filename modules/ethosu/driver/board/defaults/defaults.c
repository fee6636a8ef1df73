// SPDX-License-Identifier: MIT
/**
 * Default clock, sleep and log, for firmware without its own; only in the archive: see README.md.
 *
 * The clock counts its calls. The driver reads it once per poll, and a millisecond is the number of
 * polls that a 1 GHz processor executes in 1 ms. Every time-out therefore expires, but later than
 * specified. The processor must not sleep while this clock is in use.
 */
#include "ethosu_board.h"
#include "ethosu_ext.h"
#include "driver/base/ethosu_log.h"

#include <stdio.h>

/** Polls per millisecond, at about 30 instructions each. */
#define POLLS_PER_MS 32768u

static uint32_t count_poll(void)
{
    static uint32_t polls, milliseconds;
    polls++;
    if (polls == POLLS_PER_MS) {
        polls = 0;
        milliseconds++;
    }
    return milliseconds;
}

__attribute__((weak, alias("count_poll"))) uint32_t ethosu_ext_board_ticks_ms(void);

__attribute__((weak)) void ethosu_ext_board_idle(const volatile uint32_t *flag, uint64_t at_most_ms)
{
    (void)at_most_ms; // the exceptions of the clock wake it
    if (*flag == 0 && ethosu_ext_board_ticks_ms != count_poll) {
        // An exception since the check has set the event register, so WFE does not wait
        // (Armv8-M Architecture Reference Manual, WFE).
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
