// SPDX-License-Identifier: MIT
/** The hooks of driver and runtime inside a native .mpy; see port.c. */
#ifndef NATMOD_PORT_H
#define NATMOD_PORT_H

/** NPUs that init() can name. */
#define PORT_NPUS 4

#include "ethosu_board.h"

/** The board in use, with the cache line size; without a name if the board is unknown. */
extern struct ethosu_board natmod_board;

/**
 * Set the board's description; NULL for an unknown board. The data cache line size is read from the
 * CPU, 0 if the cache is off, which must not change later. The interrupts of the board's NPUs are
 * disabled, because a handler in the firmware would clear the status that the module polls.
 */
void port_init(const struct ethosu_board *board);

/** Enable the interrupts again that port_init() has disabled. */
void port_deinit(void);

#endif
