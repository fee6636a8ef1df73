// SPDX-License-Identifier: MIT
/**
 * The line of an emulated UART, on QEMU's first serial port: received bytes wait in a FIFO, sent
 * ones leave immediately. While the guest has set the line up incorrectly, output is dropped with a
 * message, and input waits; the chip would lose it. Big lock.
 */
#ifndef UART_LINE_H
#define UART_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/qemu_api.h"
#include "board/board.h"

#define UART_LINE_ROOM 128u
/** Bytes of a UART's registers. */
#define UART_LINE_WINDOW 0x1000u

struct uart_line {
    unsigned size;              /**< of the FIFO, at most UART_LINE_ROOM */
    const char *(*error)(void); /**< what is wrong with the set-up, or NULL */
    void (*update)(void);       /**< bytes were received */
    uint8_t received[UART_LINE_ROOM];
    unsigned first, count;
    bool reported; /**< the lost output was reported */
    _Alignas(max_align_t) unsigned char frontend[CHAR_FRONTEND_ROOM];
};

/** Connect a line, whose first three members are set, and map the registers of its UART. */
void uart_line_create(struct uart_line *line, const struct board_uart *slot,
                      uint32_t (*read)(void *, uint32_t),
                      void (*write)(void *, uint32_t, uint32_t));

/** The oldest received byte, which leaves the FIFO; 0 if there is none. */
uint32_t uart_line_take(struct uart_line *line);

void uart_line_send(struct uart_line *line, uint32_t value);

void uart_line_clear(struct uart_line *line);

/** The guest may have set up the line, or made room. */
void uart_line_accept(struct uart_line *line);

/** Within 2 % of a usual terminal speed? */
bool uart_line_is_standard_speed(uint32_t bits_per_second);

#endif
