// SPDX-License-Identifier: MIT
/** The memory protection unit: only addresses in the board's table can be accessed. */
#ifndef FIRMWARE_MPU_H
#define FIRMWARE_MPU_H

#include <stdbool.h>

#include "ethosu_board.h"

/**
 * Protect memory according to the board's table; addresses outside it fault from now on.
 *
 * @return  NULL, or a message with the reason why the MPU can't be set up; it is then off
 */
const char *mpu_enable(const struct ethosu_board *board);

/** Let the CPU write the memory at this address, or restore the access in the board's table. */
void mpu_set_writable(const void *address, bool writable);

/** Let the CPU access registers at this address, or restore the memory in the board's table. */
void mpu_set_registers(const void *address, bool registers);

#endif
