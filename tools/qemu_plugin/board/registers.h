// SPDX-License-Identifier: MIT
/** Registers of the board that only store what is written (struct board_registers). */
#ifndef REGISTERS_H
#define REGISTERS_H

#include <stdint.h>

#include "board/board.h"

/** Priority of their memory, below QEMU's stubs and our devices. */
#define REGISTERS_PRIORITY (-10)

/** Create them. A machine reset gives them their values before it gets to later devices. */
void registers_create(const struct board_chip *chip);

/** Last value written to a register; 0 if there is none at this address. */
uint32_t registers_load(uint32_t address);

/** Set the value of a register, and call what waits for a change. Big lock. */
void registers_store(uint32_t address, uint32_t value);

/** Let the guest's stores to a register do the same. */
void registers_watch(uint32_t address);

/** Call this whenever a register may have changed. */
void registers_on_change(void (*changed)(void));

#endif
