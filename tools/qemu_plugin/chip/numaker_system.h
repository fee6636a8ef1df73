// SPDX-License-Identifier: MIT
/**
 * System, clock and power registers of Nuvoton's NuMicro M55M1: the register lock, the clocks, and
 * the power state of the SRAMs.
 */
#ifndef NUMAKER_SYSTEM_H
#define NUMAKER_SYSTEM_H

#include <stdbool.h>
#include <stdint.h>

/** Has the guest unlocked the protected registers? */
bool numaker_system_unlocked(void);

/** Clock of UART0 in hertz; 0 if off. */
uint32_t numaker_system_uart_clock(void);

#endif
