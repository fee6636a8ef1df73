// SPDX-License-Identifier: MIT
/**
 * Between the console on a 16550 (uart_16550.c) and the board. A board that
 * names the driver supplies `uart_16550`; the driver supplies `board_uart`.
 */
#ifndef DRIVERS_UART_16550_H
#define DRIVERS_UART_16550_H

#include <stdint.h>

struct uart_16550 {
    uintptr_t base;    /**< of the registers, which are four bytes apart */
    unsigned irq;      /**< its number in the NVIC */
    uint32_t clock_hz; /**< what the UART divides, 16 times its highest baud rate */
    /** Called first: clocks on, pins connected. */
    void (*prepare)(void);
};

extern const struct uart_16550 uart_16550;

#endif
