// SPDX-License-Identifier: MIT
/** Arm's power policy unit. */
#ifndef ARM_PPU_H
#define ARM_PPU_H

#include <stdint.h>

/** Create one at `base`, over store-only registers. Big lock. */
void arm_ppu_create(uint32_t base);

#endif
