// SPDX-License-Identifier: MIT
/**
 * Nuvoton's UART: two FIFOs of 16 bytes, and interrupts when bytes have been received and when all
 * have been sent. Not modelled: modem lines, IrDA, LIN, RS-485, DMA, parity, time-outs.
 *
 * A wrong speed, format or pin is detected: output is then dropped with a message, and nothing is
 * received.
 *
 * Registers and bits: the first of them are in Linux's and Zephyr's drivers of the same UART, the
 * rest only in Nuvoton's BSP (uart_reg.h). Pins and their functions: Zephyr's
 * numaker_m55m1-pinctrl.dtsi.
 */
#include "numaker_uart.h"

#include <stddef.h>

#include "machine.h"
#include "machine_none.h"
#include "message.h"
#include "numaker_system.h"
#include "qemu_api.h"

#define WINDOW_SIZE 0x1000u
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
    uint8_t received[FIFO_SIZE];
    unsigned first, count;
    bool reported; /**< the lost output was reported */
    const struct board_uart *slot;
    _Alignas(max_align_t) unsigned char frontend[CHAR_FRONTEND_ROOM];
} uart;

static CharFrontend *frontend(void)
{
    return (CharFrontend *)uart.frontend;
}

/* --- Is the line configured correctly? ------------------------------------ */

/** Bits per second by BAUD: mode 0 divides by 16 (n + 2), mode 2 by n + 2. */
static uint32_t speed(void)
{
    const uint32_t baud = uart.registers[BAUD / 4], clock = numaker_system_uart_clock();
    const uint32_t divisor = (baud & 0xFFFF) + 2, mode = baud >> 28 & 3;
    return mode == 0 ? clock / divisor / 16 : mode == 3 ? clock / divisor : 0;
}

/** Within 2 % of a usual terminal speed? */
static bool is_standard_speed(uint32_t bits_per_second)
{
    static const uint32_t standard[] = {9600, 19200, 38400, 57600, 115200, 230400, 460800, 921600};
    for (size_t i = 0; i < sizeof standard / sizeof standard[0]; i++) {
        const uint32_t off = bits_per_second > standard[i] ? bits_per_second - standard[i]
                                                           : standard[i] - bits_per_second;
        if (off <= standard[i] / 50) {
            return true;
        }
    }
    return false;
}

static const char *line_error(void)
{
    if ((machine_none_load(PINS) & PINS_MASK) != PINS_UART0) {
        return "no pin is connected";
    }
    if ((uart.registers[LINE / 4] & LINE_FORMAT) != EIGHT_BITS_NO_PARITY) {
        return "the format is not eight bits without parity";
    }
    return is_standard_speed(speed()) ? NULL : "the speed is not a standard baud rate";
}

static bool line_is_valid(void)
{
    const char *reason = line_error();
    if (reason && !uart.reported) {
        message(MESSAGE_GUEST_ERROR, "uart: %s: bytes are lost", reason);
    }
    uart.reported = reason;
    return !reason;
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
    return SENT | (uart.count >= trigger_level() ? RECEIVED : 0);
}

static void update_irq(void)
{
    qemu_set_irq(machine_irq(uart.slot->irq),
                 (flags() & uart.registers[INTERRUPTS / 4] & (RECEIVED | SENT)) != 0);
}

/* --- Bytes -------------------------------------------------------------------- */

/** Input waits until the guest has set up the UART; the chip would lose it. */
static int can_receive(void *opaque)
{
    (void)opaque;
    return line_error() ? 0 : (int)(FIFO_SIZE - uart.count);
}

static void receive(void *opaque, const uint8_t *bytes, int size)
{
    (void)opaque;
    for (int i = 0; i < size && uart.count < FIFO_SIZE; i++) {
        uart.received[(uart.first + uart.count++) % FIFO_SIZE] = bytes[i];
    }
    update_irq();
}

static uint32_t take(void)
{
    if (uart.count == 0) {
        return 0;
    }
    uint32_t value = uart.received[uart.first];
    uart.first = (uart.first + 1) % FIFO_SIZE;
    uart.count--;
    update_irq();
    qemu_chr_fe_accept_input(frontend());
    return value;
}

static void send(uint32_t value)
{
    const uint8_t byte = (uint8_t)value;
    if (line_is_valid()) {
        qemu_chr_fe_write_all(frontend(), &byte, 1);
    }
}

/* --- Registers ------------------------------------------------------------------ */

static uint32_t fifo_status(void)
{
    return TX_EMPTY | TX_EMPTY_AND_SENT | RX_IDLE | (uart.count % FIFO_SIZE) << 8 |
           (uart.count == 0 ? RX_EMPTY : 0) | (uart.count == FIFO_SIZE ? RX_FULL : 0);
}

static uint32_t read_register(void *context, uint32_t offset)
{
    (void)context;
    switch (offset) {
    case DATA:
        return take();
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
        send(value);
    } else if (offset < REGISTERS_END && offset != FIFO_STATUS && offset != INTERRUPT_STATUS) {
        uart.registers[offset / 4] = value;
    }
    if (offset == FIFO) {
        uart.registers[FIFO / 4] &= ~(uint32_t)(CLEAR_RECEIVED | CLEAR_SENT);
        uart.count = value & CLEAR_RECEIVED ? 0 : uart.count;
    }
    update_irq();
    qemu_chr_fe_accept_input(frontend());
}

/* --- Start and reset ------------------------------------------------------------ */

static void reset(void *opaque)
{
    (void)opaque;
    for (size_t i = 0; i < sizeof uart.registers / sizeof uart.registers[0]; i++) {
        uart.registers[i] = 0;
    }
    uart.count = 0;
    update_irq();
}

void numaker_uart_create(const struct board_uart *slot)
{
    uart.slot = slot;
    if (serial_hd(0) && qemu_chr_fe_init(frontend(), serial_hd(0), NULL)) {
        qemu_chr_fe_set_handlers(frontend(), can_receive, receive, NULL, NULL, NULL, NULL, true);
    }
    machine_map(&(struct machine_window){.name = "uart",
                                         .base = slot->base,
                                         .size = WINDOW_SIZE,
                                         .read = read_register,
                                         .write = write_register,
                                         .gate = &slot->gate},
                NULL);
    qemu_register_reset(reset, NULL);
}
