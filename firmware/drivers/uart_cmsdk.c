// SPDX-License-Identifier: MIT
/**
 * The console on a CMSDK APB UART (Arm DDI 0479, chapter 4.3).
 *
 * If the ring is full, a byte stays in the UART and the receive interrupt is
 * off. QEMU then holds back further bytes, so nothing is lost.
 */
#include "board.h"
#include "irq.h"
#include "mpconfigboard.h"

struct cmsdk_uart {
    volatile uint32_t data;
    volatile uint32_t state;
    volatile uint32_t control;
    volatile uint32_t interrupt; /**< read: status, write 1: clear */
    volatile uint32_t baud_divider;
};

enum state { TX_FULL = 1u << 0, RX_FULL = 1u << 1 };
enum control { TX_ENABLE = 1u << 0, RX_ENABLE = 1u << 1, RX_INTERRUPT = 1u << 3 };
enum interrupt { RX_RECEIVED = 1u << 1 };

static struct cmsdk_uart *const uart = (struct cmsdk_uart *)BOARD_UART_BASE;

static void receive(void *unused)
{
    uart->interrupt = RX_RECEIVED;
    while (uart->state & RX_FULL) {
        if (console_room() == 0) {
            uart->control = TX_ENABLE | RX_ENABLE;
            return;
        }
        console_receive(&board_uart, (uint8_t)uart->data);
    }
}

static bool start(void)
{
    uart->baud_divider = BOARD_UART_CLOCK_HZ / BOARD_UART_BAUD;
    uart->control = TX_ENABLE | RX_ENABLE | RX_INTERRUPT;
    irq_connect(BOARD_UART_IRQ, receive, NULL);
    return true;
}

static void resume(void)
{
    uart->control = TX_ENABLE | RX_ENABLE | RX_INTERRUPT;
    receive(NULL); // the byte that waits raises no second interrupt
}

static void send(const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        while (uart->state & TX_FULL) {
        }
        uart->data = (uint8_t)bytes[i];
    }
}

const struct console_port board_uart = {
    .start = start,
    .resume = resume,
    .send = send,
};
