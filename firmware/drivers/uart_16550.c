// SPDX-License-Identifier: MIT
/**
 * The console on a DesignWare 16550 (DW_apb_uart) with fractional divisor.
 *
 * A byte that finds the ring full stays in the UART with the receive interrupt
 * off.
 */
#include <stddef.h>

#include "board.h"
#include "irq.h"
#include "mpconfigboard.h"

struct registers {
    volatile uint32_t data;       /**< and the divisor's low byte */
    volatile uint32_t interrupts; /**< and its high byte */
    volatile uint32_t fifo;       /**< write: FIFO control; read: interrupt identification */
    volatile uint32_t line;
    volatile uint32_t modem;
    volatile uint32_t line_status;
    uint32_t reserved_18[25];
    volatile uint32_t status;
    uint32_t reserved_80[16];
    volatile uint32_t divisor_fraction; /**< sixteenths */
};

_Static_assert(offsetof(struct registers, status) == 0x7C, "USR of DW_apb_uart");
_Static_assert(offsetof(struct registers, divisor_fraction) == 0xC0, "DLF of DW_apb_uart");

enum line { EIGHT_BITS = 3, DIVISOR_ACCESS = 1 << 7 };
enum line_status { RX_READY = 1 << 0, TX_EMPTY = 1 << 5 };
enum fifo { FIFO_ON = 1 << 0, FIFO_CLEAR = 3 << 1 };
enum interrupt { RX_INTERRUPT = 1 << 0, KIND = 15, KIND_BUSY = 7, KIND_RX_OLD = 12 };
enum status { BUSY = 1 << 0 };

/** More reads than the UART needs to send the boot loader's data in its FIFO. */
#define BUSY_READS 1000000u

static struct registers *registers(void)
{
    return (struct registers *)BOARD_UART_BASE;
}

static void receive(void *unused)
{
    uint32_t kind = registers()->fifo & KIND;
    if (kind == KIND_BUSY) { // written to while busy; this read clears the interrupt
        (void)registers()->status;
    }
    if (kind == KIND_RX_OLD && !(registers()->line_status & RX_READY)) {
        (void)registers()->data; // time-out without a byte, a known UART bug (also in Linux)
    }
    while (registers()->line_status & RX_READY) {
        if (console_room() == 0) {
            registers()->interrupts = 0;
            return;
        }
        console_receive(&board_uart, (uint8_t)registers()->data);
    }
}

/** The UART ignores the divisor while busy, so first let it send the boot loader's output. */
static void wait_until_idle(void)
{
    for (uint32_t i = 0; i < BUSY_READS && registers()->status & BUSY; i++) {
    }
}

static bool start(void)
{
    const uint32_t sixteenths = (BOARD_UART_CLOCK_HZ + BOARD_UART_BAUD / 2) / BOARD_UART_BAUD;
    board_uart_prepare();
    wait_until_idle();
    registers()->interrupts = 0;
    registers()->fifo = FIFO_ON | FIFO_CLEAR;
    registers()->line = DIVISOR_ACCESS | EIGHT_BITS;
    registers()->data = sixteenths >> 4 & 0xFF;
    registers()->interrupts = sixteenths >> 12;
    registers()->divisor_fraction = sixteenths & 15;
    registers()->line = EIGHT_BITS;
    registers()->interrupts = RX_INTERRUPT;
    irq_connect(BOARD_UART_IRQ, receive, NULL);
    return true;
}

static void resume(void)
{
    registers()->interrupts = RX_INTERRUPT;
    receive(NULL);
}

static void send(const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        while (!(registers()->line_status & TX_EMPTY)) {
        }
        registers()->data = (uint8_t)bytes[i];
    }
}

const struct console_port board_uart = {
    .start = start,
    .resume = resume,
    .send = send,
};
