// SPDX-License-Identifier: MIT
/** Sleep of firmware that supplies none. Only for an archive: see README.md. */
#include "ethosu_board.h"

void ethosu_ext_board_idle(const volatile uint32_t *flag)
{
    if (*flag == 0) {
        // An exception that came between the look and here has set the event register, so that WFE
        // does not wait (Armv8-M Architecture Reference Manual, WFE).
#ifdef __arm__
        __asm volatile("wfe" ::: "memory");
#endif
    }
}
