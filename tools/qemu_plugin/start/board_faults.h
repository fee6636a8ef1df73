// SPDX-License-Identifier: MIT
/** Faults of the board as a whole, injected as device "board". */
#ifndef BOARD_FAULTS_H
#define BOARD_FAULTS_H

#include <stdbool.h>

/**
 * "reset" presses the reset button, "power-loss" also fills the RAM with noise, "call" makes the
 * program call its function (EMULATOR_CALLS). No effect with a count of 0.
 *
 * @return  false if the fault is unknown
 */
bool board_inject(const char *fault, unsigned count);

/** Inject "power-loss". */
void board_lose_power(void);

/** Machine reset: fill the RAM with noise after a power loss. */
void board_reset(void);

#endif
