// SPDX-License-Identifier: MIT
/** What can happen to the board as a whole: the device "board" among the faults. */
#ifndef BOARD_FAULTS_H
#define BOARD_FAULTS_H

#include <stdbool.h>

/**
 * "reset" presses the reset button, "power-loss" also fills the RAM with noise,
 * "call" has the program's function called (EMULATOR_CALLS). Nothing with a
 * count of 0.
 *
 * @return  false: no such fault
 */
bool board_inject(const char *fault, unsigned count);

/** The machine resets: after a loss of power its RAM holds noise. */
void board_reset(void);

#endif
