// SPDX-License-Identifier: MIT
/** The UART of Nuvoton's NuMicro M55M1. */
#ifndef NUMAKER_UART_H
#define NUMAKER_UART_H

#include "board.h"

/** Create it in the machine, on QEMU's first serial port. Big lock. */
void numaker_uart_create(const struct board_uart *uart);

#endif
