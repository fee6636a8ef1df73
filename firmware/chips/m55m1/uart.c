// SPDX-License-Identifier: MIT
/**
 * UART0, on the pins that the board's Nu-Link2 makes a serial port of the PC:
 * PB12 receives, PB13 sends.
 *
 * A byte that finds the ring full stays in the UART with the receive interrupt
 * off.
 */
#include "board.h"
#include "irq.h"
#include "mpconfigboard.h"
#include "registers.h"

/** In CLK_UARTCTL and SYS_UARTRST. */
#define UART0 1u
/** Choices of CLK_UARTSEL0 and CLK_UARTDIV0: the oscillator HIRC, not divided. */
enum { UART0_CLOCKS = 0x7, UART0_HIRC = 1, UART0_DIVIDER = 0xF };
/** Both pins have UART0 as function 6. */
#define PINS (0x1Fu | 0x1Fu << 8)
#define PINS_UART0 (6u | 6u << 8)

struct uart {
    volatile uint32_t data;
    volatile uint32_t interrupts;
    volatile uint32_t fifo;
    volatile uint32_t line;
    uint32_t reserved_10[2];
    volatile uint32_t fifo_status;
    volatile uint32_t interrupt_status;
    volatile uint32_t timeout;
    volatile uint32_t baud;
    uint32_t reserved_28[2];
    volatile uint32_t function;
};

_Static_assert(offsetof(struct uart, fifo_status) == 0x18, "UART_FIFOSTS");
_Static_assert(offsetof(struct uart, baud) == 0x24, "UART_BAUD");
_Static_assert(offsetof(struct uart, function) == 0x30, "UART_FUNCSEL");

static struct uart *const uart = (struct uart *)BOARD_UART_BASE;

enum line { EIGHT_BITS = 3 };
enum fifo { RX_CLEAR = 1 << 1, TX_CLEAR = 1 << 2 }; /**< interrupt at the first byte: 0 in 7:4 */
enum fifo_status { RX_EMPTY = 1 << 14, TX_FULL = 1 << 23 };
enum interrupt { RX_INTERRUPT = 1 << 0 };

/** Mode 2: the clock is divided by the field and 2. */
#define BAUD_MODE_2 (3u << 28)
#define DIVISOR ((BOARD_UART_CLOCK_HZ + BOARD_UART_BAUD / 2u) / BOARD_UART_BAUD)

static void receive(void *unused)
{
    while (!(uart->fifo_status & RX_EMPTY)) {
        if (console_room() == 0) {
            uart->interrupts = 0;
            return;
        }
        console_receive(&board_uart, (uint8_t)uart->data);
    }
}

static bool start(void)
{
    uint32_t state = irq_mask();
    registers_unlock();
    irq_restore(state);
    CLK_UARTSEL0 = (CLK_UARTSEL0 & ~(uint32_t)UART0_CLOCKS) | UART0_HIRC;
    CLK_UARTDIV0 &= ~(uint32_t)UART0_DIVIDER;
    CLK_UARTCTL |= UART0;
    registers_pulse(&SYS_UARTRST, UART0);
    registers_lock();
    SYS_GPB_MFP3 = (SYS_GPB_MFP3 & ~PINS) | PINS_UART0;
    uart->function = 0;
    uart->line = EIGHT_BITS;
    uart->baud = BAUD_MODE_2 | (DIVISOR - 2u);
    uart->fifo = RX_CLEAR | TX_CLEAR;
    uart->interrupts = RX_INTERRUPT;
    irq_connect(BOARD_UART_IRQ, receive, NULL);
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
        while (uart->fifo_status & TX_FULL) {
        }
        uart->data = (uint8_t)bytes[i];
    }
}

const struct console_port board_uart = {
    .start = start,
    .resume = resume,
    .send = send,
};
