// SPDX-License-Identifier: MIT
/** A serial communication block (SCB) of Infineon's chips as a UART. */
#ifndef SCB_UART_H
#define SCB_UART_H

#include "board.h"

/** Create it in the machine, on QEMU's first serial port. Big lock. */
void scb_uart_create(const struct board_uart *uart);

#endif
