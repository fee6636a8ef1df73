// SPDX-License-Identifier: MIT
/** The UART of Arm's Cortex-M System Design Kit: QEMU's own device. */
#ifndef CMSDK_UART_H
#define CMSDK_UART_H

#include "board.h"

/** Create it in the machine, on QEMU's first serial port. Big lock. */
void cmsdk_uart_create(const struct board_uart *uart);

#endif
