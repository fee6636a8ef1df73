// SPDX-License-Identifier: MIT
/**
 * The serial port of the prompt. Replace registers and bits with your chip's, but
 * keep the flow control: if the ring is full, a byte stays in the device, with the
 * receive interrupt off, until resume().
 */
#include "board.h"
#include "irq.h"
#include "mpconfigboard.h"

struct uart {
    volatile uint32_t data;
    volatile uint32_t status;
    volatile uint32_t interrupts; /**< enabled */
    volatile uint32_t baud_rate;
};

enum status { RECEIVED = 1u << 0, CAN_SEND = 1u << 1 };

static struct uart *const uart = (struct uart *)BOARD_UART_BASE;

static void receive(void *unused)
{
    (void)unused;
    while (uart->status & RECEIVED) {
        if (console_room() == 0) {
            uart->interrupts = 0;
            return;
        }
        console_receive(&board_uart, (uint8_t)uart->data);
    }
}

static void resume(void)
{
    uart->interrupts = RECEIVED;
    receive(NULL); // the byte that waits may raise no second interrupt
}

static bool start(void)
{
    uart->baud_rate = BOARD_UART_BAUD;
    irq_connect(BOARD_UART_IRQ, receive, NULL);
    uart->interrupts = RECEIVED;
    return true;
}

/** Polls, since fault handlers call it too. */
static void send(const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        while (!(uart->status & CAN_SEND)) {
        }
        uart->data = (uint8_t)bytes[i];
    }
}

const struct console_port board_uart = {
    .start = start,
    .resume = resume,
    .send = send,
};
