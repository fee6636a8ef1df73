// SPDX-License-Identifier: MIT
/** Sleep of firmware that supplies none. Only for an archive: see README.md. */
#include "ethosu_board.h"

/** Of ticks.c; not there when the firmware has a clock of its own. */
extern const bool ethosu_ext_clock_counts_looks __attribute__((weak));

void ethosu_ext_board_idle(const volatile uint32_t *flag)
{
    if (*flag == 0 && &ethosu_ext_clock_counts_looks == NULL) {
        // An exception that came between the look and here has set the event register, so that WFE
        // does not wait (Armv8-M Architecture Reference Manual, WFE).
#ifdef __arm__
        __asm volatile("wfe" ::: "memory");
#endif
    }
}
