// SPDX-License-Identifier: MIT
/** The memory protection unit: only what the board's memory map names can be touched. */
#ifndef FIRMWARE_MPU_H
#define FIRMWARE_MPU_H

#include "board.h"

/** Put the memory map in force; addresses outside it fault from now on. */
void mpu_enable(const struct board_range *ranges, size_t count);

#endif
