// SPDX-License-Identifier: MIT
/** The memory protection unit: only what the board's table names can be touched. */
#ifndef FIRMWARE_MPU_H
#define FIRMWARE_MPU_H

#include "ethosu_board.h"

/**
 * Put the board's memories in force; addresses outside them fault from now on.
 *
 * @return  false: the unit has fewer regions than the board has memories; it stays off
 */
bool mpu_enable(const struct ethosu_board *board);

#endif
