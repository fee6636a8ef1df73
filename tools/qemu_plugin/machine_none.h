// SPDX-License-Identifier: MIT
/**
 * A board made out of QEMU's machine "none", which has nothing of its own:
 * CPU, interrupt controller, memories and UART from the board's table.
 */
#ifndef MACHINE_NONE_H
#define MACHINE_NONE_H

#include <stdbool.h>
#include <stdint.h>

/** At load: have QEMU make the board. False: it cannot, and an error was printed. */
bool machine_none_prepare(void);

/** What a register that only remembers was written last; 0: none is at this address. */
uint32_t machine_none_recall(uint32_t address);

/** Let a register that only remembers hold another value. */
void machine_none_remember(uint32_t address, uint32_t value);

/** Run the CPU and its SysTick at so many hertz from now on. Big lock. */
void machine_none_set_clock(uint32_t hertz);

#endif
