// SPDX-License-Identifier: MIT
/**
 * A UART of the chip, which the board's mpconfigboard.h chooses: a 16550 with
 * registers four bytes apart.
 *
 * A byte that finds the ring full stays in the UART with the receive interrupt
 * off.
 */
#include "board.h"
#include "irq.h"
#include "mpconfigboard.h"

#define UART_IRQ (124u + ALIF_UART)

/** Bit n lets UARTn have its clock, bit 8 + n chooses the clock of 100 MHz. */
#define UART_CLOCKS (*(volatile uint32_t *)0x4902F008u)
#define UART_CLOCKS_HERE (1u << ALIF_UART | 1u << (8u + ALIF_UART))

/** What a pin does: the function, and how its driver is set. */
#define PIN(offset) (*(volatile uint32_t *)(0x1A603000u + (offset)))
#define PIN_INPUT (1u << 16)     /**< its receiver is on */
#define PIN_OUTPUT (0x44u << 16) /**< 8 mA, fast */

struct uart {
    volatile uint32_t data;       /**< and the divisor's low byte */
    volatile uint32_t interrupts; /**< and its high byte */
    volatile uint32_t fifo;
    volatile uint32_t line;
    volatile uint32_t modem;
    volatile uint32_t line_status;
    uint32_t unused[42];
    volatile uint32_t divisor_fraction; /**< sixteenths */
};

static struct uart *const uart = (struct uart *)(0x49018000u + ALIF_UART * 0x1000u);

enum line { EIGHT_BITS = 3, DIVISOR_ACCESS = 1 << 7 };
enum line_status { RX_READY = 1 << 0, TX_EMPTY = 1 << 5 };
enum fifo { FIFO_ON = 1 << 0, FIFO_CLEAR = 3 << 1 };
enum interrupt { RX_INTERRUPT = 1 << 0 };

static void receive(void *unused)
{
    (void)uart->fifo; // which interrupt it is: reading ends some kinds
    while (uart->line_status & RX_READY) {
        if (console_room() == 0) {
            uart->interrupts = 0;
            return;
        }
        console_receive(&board_uart, (uint8_t)uart->data);
    }
}

static bool start(void)
{
    const uint32_t divisor = BOARD_PERIPHERAL_HZ / BOARD_UART_BAUD; // in sixteenths
    UART_CLOCKS |= UART_CLOCKS_HERE;
    PIN(ALIF_UART_RX) = ALIF_UART_FUNCTION | PIN_INPUT;
    PIN(ALIF_UART_TX) = ALIF_UART_FUNCTION | PIN_OUTPUT;
    uart->interrupts = 0;
    uart->line = DIVISOR_ACCESS | EIGHT_BITS;
    uart->data = divisor >> 4 & 0xFF;
    uart->interrupts = divisor >> 12;
    uart->divisor_fraction = divisor & 15;
    uart->line = EIGHT_BITS;
    uart->fifo = FIFO_ON | FIFO_CLEAR;
    uart->interrupts = RX_INTERRUPT;
    irq_connect(UART_IRQ, receive, NULL);
    return true;
}

static void resume(void)
{
    uart->interrupts = RX_INTERRUPT;
    receive(NULL);
}

static void send(const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        while (!(uart->line_status & TX_EMPTY)) {
        }
        uart->data = (uint8_t)bytes[i];
    }
}

const struct console_port board_uart = {
    .start = start,
    .resume = resume,
    .send = send,
};
