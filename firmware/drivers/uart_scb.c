// SPDX-License-Identifier: MIT
/**
 * The console on a serial communication block (SCB) of Infineon's chips, as a UART. Registers:
 * cyip_scb.h and cy_scb_uart.c of Infineon's peripheral library.
 *
 * A byte that finds the ring full stays in the FIFO with the receive interrupt off.
 */
#include "board.h"
#include "irq.h"
#include "mpconfigboard.h"

enum offset {
    CONTROL = 0x000,
    UART_CONTROL = 0x040,
    UART_TX = 0x044,
    UART_RX = 0x048,
    UART_FLOW = 0x050,
    TX_CONTROL = 0x200,
    TX_FIFO = 0x204,
    TX_STATUS = 0x208,
    TX_WRITE = 0x240,
    RX_CONTROL = 0x300,
    RX_FIFO = 0x304,
    RX_STATUS = 0x308,
    RX_READ = 0x340,
    TX_MASK = 0xF88,
    RX_INTERRUPTS = 0xFC0,
    RX_MASK = 0xFC8,
};

#define MODE_UART (2u << 24)
#define ENABLED (1u << 31)
/** Clocks of the SCB per bit. */
#define OVERSAMPLING ((BOARD_UART_CLOCK_HZ + BOARD_UART_BAUD / 2u) / BOARD_UART_BAUD)
_Static_assert(OVERSAMPLING >= 8 && OVERSAMPLING <= 16,
               "the SCB's clock is a multiple of the speed");

#define ONE_STOP_BIT 1u /**< in half bits, minus one */
#define EIGHT_BITS 7u   /**< least significant one first */
#define FIFO_CLEAR (1u << 16)
#define USED 0x1FFu    /**< entries of a FIFO */
#define TX_ENTRIES 64u /**< fewer than the FIFO has, in each of its formats */
enum rx_interrupt { NOT_EMPTY = 1 << 2 };

static volatile uint32_t *at(enum offset offset)
{
    return (volatile uint32_t *)(BOARD_UART_BASE + (uintptr_t)offset);
}

static void receive(void *unused)
{
    *at(RX_INTERRUPTS) = NOT_EMPTY; // is set again while there are bytes
    while (*at(RX_STATUS) & USED) {
        if (console_room() == 0) {
            *at(RX_MASK) = 0;
            return;
        }
        console_receive(&board_uart, (uint8_t)*at(RX_READ));
    }
    *at(RX_INTERRUPTS) = NOT_EMPTY;
}

static void clear(enum offset fifo)
{
    *at(fifo) = FIFO_CLEAR;
    *at(fifo) = 0;
}

static bool start(void)
{
    board_uart_prepare();
    *at(CONTROL) = 0;
    *at(CONTROL) = MODE_UART | (OVERSAMPLING - 1u);
    *at(UART_CONTROL) = 0;
    *at(UART_TX) = ONE_STOP_BIT;
    *at(UART_RX) = ONE_STOP_BIT;
    *at(UART_FLOW) = 0;
    *at(TX_CONTROL) = EIGHT_BITS;
    *at(RX_CONTROL) = EIGHT_BITS;
    clear(TX_FIFO);
    clear(RX_FIFO);
    *at(TX_MASK) = 0;
    *at(RX_MASK) = NOT_EMPTY;
    *at(CONTROL) |= ENABLED;
    irq_connect(BOARD_UART_IRQ, receive, NULL);
    return true;
}

static void resume(void)
{
    *at(RX_MASK) = NOT_EMPTY;
    receive(NULL);
}

static void send(const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        while ((*at(TX_STATUS) & USED) >= TX_ENTRIES - 1u) {
        }
        *at(TX_WRITE) = (uint8_t)bytes[i];
    }
}

const struct console_port board_uart = {
    .start = start,
    .resume = resume,
    .send = send,
};
