// SPDX-License-Identifier: MIT
/** The console of this board; see uart.h. */
#include "uart.h"

#include "board.h"
#include "host.h"

/** Bytes read from the host but not yet by the console. */
static uint8_t buffer[256];
static size_t next, count;

static bool start(void)
{
    return true;
}

static void send(const char *bytes, size_t size)
{
    host_write(bytes, size);
}

void uart_receive(void)
{
    while (uart_has_input() && console_room() != 0) {
        console_receive(&board_uart, buffer[next++]);
    }
}

bool uart_has_input(void)
{
    if (next == count) {
        next = 0;
        count = host_read(buffer, sizeof buffer);
    }
    return next < count;
}

const struct console_port board_uart = {.start = start, .resume = uart_receive, .send = send};
