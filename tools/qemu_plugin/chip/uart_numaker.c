// SPDX-License-Identifier: MIT
/**
 * The UART of Nuvoton's NuMicro M55M1: two FIFOs of 16 bytes, and interrupts when bytes have been
 * received and when all have been sent. Not modelled: modem lines, IrDA, LIN, RS-485, DMA, parity,
 * time-outs.
 *
 * A wrong speed, format or pin is detected: output is then dropped with a message, and nothing is
 * received.
 *
 * Registers and bits: the first of them are in Linux's and Zephyr's drivers of the same UART, the
 * rest only in Nuvoton's BSP (uart_reg.h). Pins and their functions: Zephyr's
 * numaker_m55m1-pinctrl.dtsi.
 */
#include <string.h>

#include "base/qemu_api.h"
#include "board/machine.h"
#include "board/registers.h"
#include "chip/chip.h"
#include "chip/numaker_system.h"
#include "chip/uart_line.h"

#define FIFO_SIZE 16u

enum uart_register {
    DATA = 0x00,
    INTERRUPTS = 0x04,
    FIFO = 0x08,
    LINE = 0x0C,
    FIFO_STATUS = 0x18,
    INTERRUPT_STATUS = 0x1C,
    BAUD = 0x24,
    REGISTERS_END = 0x50,
};

enum interrupt { RECEIVED = 1 << 0, SENT = 1 << 1 };
enum fifo { CLEAR_RECEIVED = 1 << 1, CLEAR_SENT = 1 << 2 };
enum fifo_status {
    RX_EMPTY = 1 << 14,
    RX_FULL = 1 << 15,
    TX_EMPTY = 1 << 22,
    TX_EMPTY_AND_SENT = 1 << 28,
    RX_IDLE = 1 << 29,
};
enum { EIGHT_BITS_NO_PARITY = 3, LINE_FORMAT = 0x7F };

/** Multi-function register of pins PB12 to PB15; UART0 is function 6 on both of its pins. */
#define PINS 0x4000031Cu
#define PINS_MASK 0x1F1Fu
#define PINS_UART0 0x0606u

static struct {
    uint32_t registers[REGISTERS_END / 4];
    const struct board_uart *slot;
    struct uart_line line;
} uart;

/* --- Is the line configured correctly? ------------------------------------ */

/** Bits per second by BAUD: mode 0 divides by 16 (n + 2), mode 2 by n + 2. */
static uint32_t speed(void)
{
    const uint32_t baud = uart.registers[BAUD / 4], clock = numaker_system_uart_clock();
    const uint32_t divisor = (baud & 0xFFFF) + 2, mode = baud >> 28 & 3;
    return mode == 0 ? clock / divisor / 16 : mode == 3 ? clock / divisor : 0;
}

static const char *line_error(void)
{
    if ((registers_load(PINS) & PINS_MASK) != PINS_UART0) {
        return "no pin is connected";
    }
    if ((uart.registers[LINE / 4] & LINE_FORMAT) != EIGHT_BITS_NO_PARITY) {
        return "the format is not eight bits without parity";
    }
    return uart_line_is_standard_speed(speed()) ? NULL : "the speed is not a standard baud rate";
}

/* --- Interrupts --------------------------------------------------------------- */

/** Number of bytes at which RECEIVED is set. */
static unsigned trigger_level(void)
{
    static const uint8_t levels[] = {1, 4, 8, 14};
    return levels[uart.registers[FIFO / 4] >> 4 & 3];
}

/** Output is sent immediately. */
static uint32_t flags(void)
{
    return SENT | (uart.line.count >= trigger_level() ? RECEIVED : 0);
}

static void update_irq(void)
{
    qemu_set_irq(machine_irq(uart.slot->irq),
                 (flags() & uart.registers[INTERRUPTS / 4] & (RECEIVED | SENT)) != 0);
}

/* --- Registers ------------------------------------------------------------------ */

static uint32_t fifo_status(void)
{
    return TX_EMPTY | TX_EMPTY_AND_SENT | RX_IDLE | (uart.line.count % FIFO_SIZE) << 8 |
           (uart.line.count == 0 ? RX_EMPTY : 0) | (uart.line.count == FIFO_SIZE ? RX_FULL : 0);
}

static uint32_t read_register(void *context, uint32_t offset)
{
    (void)context;
    switch (offset) {
    case DATA:
        return uart_line_take(&uart.line);
    case FIFO_STATUS:
        return fifo_status();
    case INTERRUPT_STATUS:
        return flags() | (flags() & uart.registers[INTERRUPTS / 4]) << 8;
    default:
        return offset < REGISTERS_END ? uart.registers[offset / 4] : 0;
    }
}

static void write_register(void *context, uint32_t offset, uint32_t value)
{
    (void)context;
    if (offset == DATA) {
        uart_line_send(&uart.line, value);
    } else if (offset < REGISTERS_END && offset != FIFO_STATUS && offset != INTERRUPT_STATUS) {
        uart.registers[offset / 4] = value;
    }
    if (offset == FIFO) {
        uart.registers[FIFO / 4] &= ~(uint32_t)(CLEAR_RECEIVED | CLEAR_SENT);
        if (value & CLEAR_RECEIVED) {
            uart_line_clear(&uart.line);
        }
    }
    update_irq();
    uart_line_accept(&uart.line);
}

/* --- Start and reset ------------------------------------------------------------ */

static void reset(void *opaque)
{
    (void)opaque;
    memset(uart.registers, 0, sizeof uart.registers);
    uart_line_clear(&uart.line);
    update_irq();
}

void uart_numaker_create(const struct board_uart *slot)
{
    uart.slot = slot;
    uart.line = (struct uart_line){.size = FIFO_SIZE, .error = line_error, .update = update_irq};
    uart_line_create(&uart.line, slot, read_register, write_register);
    qemu_register_reset(reset, NULL);
}
