// SPDX-License-Identifier: MIT
/** The flash memory controller (FMC) of Nuvoton's NuMicro M55M1. */
#ifndef NUMAKER_FLASH_H
#define NUMAKER_FLASH_H

#include <stdint.h>

/** Create the controller of the flash at 0x00100000; its registers are at `base`. Big lock. */
void numaker_flash_create(uint32_t base);

#endif
