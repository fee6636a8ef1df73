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

#endif
