// SPDX-License-Identifier: MIT
/** The hooks of driver and runtime inside a native .mpy; see port.c. */
#ifndef NATMOD_PORT_H
#define NATMOD_PORT_H

/** NPUs that init() can name. */
#define PORT_NPUS 4

#include "ethosu_board.h"

/** The board in use, with the cache's line; without a name: nothing is known of it. */
extern struct ethosu_board natmod_board;

/**
 * Take a board's description into use; NULL: nothing is known of it. The line of the data cache is
 * the CPU's own answer, 0 when the cache is off; it must not be switched later. The interrupts of
 * the board's NPUs are disabled: a handler of the firmware would take what the module polls for.
 */
void port_init(const struct ethosu_board *board);

/** Enable the interrupts again that port_init() has disabled. */
void port_deinit(void);

#endif
