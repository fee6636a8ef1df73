// SPDX-License-Identifier: MIT
/** The hooks of driver and runtime inside a native .mpy; see hooks.c. */
#ifndef NATMOD_HOOKS_H
#define NATMOD_HOOKS_H

/** NPUs that init() can name. */
#define NATMOD_NPUS 4

#include "ethosu_board.h"

/** The board in use, with the cache line size; without a name if the board is unknown. */
extern struct ethosu_board natmod_board;

/**
 * Set the board's description; NULL for an unknown board. The data cache line size is read from the
 * CPU, 0 if the cache is off, which must not change later. The interrupts of the board's NPUs are
 * disabled, because a handler in the firmware would clear the status that the module polls.
 */
void hooks_init(const struct ethosu_board *board);

/** Enable the interrupts again that hooks_init() disabled. */
void hooks_deinit(void);

#endif
