// SPDX-License-Identifier: MIT
/**
 * System, clock and power registers of Nuvoton's NuMicro M55M1: the lock in
 * front of them, the clocks, and which of the SRAMs are on.
 */
#ifndef NUMAKER_SYSTEM_H
#define NUMAKER_SYSTEM_H

#include <stdbool.h>
#include <stdint.h>

/** Make them from `base` on, over registers that only remember. Big lock. */
void numaker_system_create(uint32_t base);

/** Has the guest unlocked the protected registers? */
bool numaker_system_unlocked(void);

/** Hertz of what clocks UART0; 0: nothing does. */
uint32_t numaker_system_uart_clock(void);

#endif
