// SPDX-License-Identifier: MIT
/** The memory protection unit: only what the board's table names can be touched. */
#ifndef FIRMWARE_MPU_H
#define FIRMWARE_MPU_H

#include <stdbool.h>

#include "ethosu_board.h"

/**
 * Protect by the board's memories; addresses outside them fault from now on.
 *
 * @return  NULL, or a sentence that says why the unit can't be set by this table; then it is off
 */
const char *mpu_enable(const struct ethosu_board *board);

/** Let the CPU write the board's memory at this address, or only what its table says again. */
void mpu_set_writable(const void *address, bool writable);

#endif
