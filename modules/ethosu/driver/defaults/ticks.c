// SPDX-License-Identifier: MIT
/** Clock of firmware that supplies none: it stands still, so no time-out ever ends. */
#include "ethosu_board.h"

uint32_t ethosu_ext_board_ticks_ms(void)
{
    return 0;
}
