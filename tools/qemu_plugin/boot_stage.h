// SPDX-License-Identifier: MIT
/**
 * The boot stage that starts an image: it leaves a core that is not as after a reset.
 */
#ifndef BOOT_STAGE_H
#define BOOT_STAGE_H

#include <stdint.h>

/** A stage of the board's table, with the address that it jumps to; create before the CPU runs. */
void boot_stage_create(uint32_t jump_address);

#endif
