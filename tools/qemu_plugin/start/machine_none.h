// SPDX-License-Identifier: MIT
/**
 * A board built on QEMU's empty machine "none": CPU, interrupt controller, memories and UART come
 * from the board's table.
 */
#ifndef MACHINE_NONE_H
#define MACHINE_NONE_H

#include <stdbool.h>
#include <stdint.h>

/** At load: make QEMU create the board. On failure prints an error and returns false. */
bool machine_none_prepare(void);

/** Last value written to a store-only register; 0 if there is none at this address. */
uint32_t machine_none_load(uint32_t address);

/** Set the value of a store-only register, which may switch a memory on or off. Big lock. */
void machine_none_store(uint32_t address, uint32_t value);

/** Let the guest's stores to a store-only register do the same. */
void machine_none_watch(uint32_t address);

/** Set the clock of the CPU and its SysTick. Big lock. */
void machine_none_set_clock(uint32_t hertz);

/* --- Devices that a board's table may name, each in a file of its name --------- */

/** Create one with registers at `base`, over store-only ones. Big lock. */
void arm_ppu_create(uint32_t base);
void numaker_flash_create(uint32_t base);
void numaker_system_create(uint32_t base);

#endif
