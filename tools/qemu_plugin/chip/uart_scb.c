// SPDX-License-Identifier: MIT
/**
 * A serial communication block (SCB) of Infineon's chips as a UART: two FIFOs of 128 bytes, and the
 * interrupt when the receiver's is not empty. Not modelled: SPI, I2C, flow control, parity, errors,
 * other interrupts and formats.
 *
 * Registers and bits: Infineon's SVD file.
 */
#include <string.h>

#include "base/qemu_api.h"
#include "board/machine.h"
#include "board/registers.h"
#include "chip/chip.h"
#include "chip/uart_line.h"

enum scb_register {
    CTRL = 0x000,
    UART_CTRL = 0x040,
    UART_TX_CTRL = 0x044,
    UART_RX_CTRL = 0x048,
    TX_CTRL = 0x200,
    TX_FIFO_STATUS = 0x208,
    TX_FIFO_WR = 0x240,
    RX_CTRL = 0x300,
    RX_FIFO_CTRL = 0x304,
    RX_FIFO_STATUS = 0x308,
    RX_FIFO_RD = 0x340,
    INTR_RX = 0xFC0,
    INTR_RX_MASK = 0xFC8,
    INTR_RX_MASKED = 0xFCC,
};

#define CTRL_ENABLED (1u << 31)
#define CTRL_MODE(value) ((value) >> 24 & 7u)
#define CTRL_OVERSAMPLING(value) (((value) & 15u) + 1u)
enum { MODE_UART = 2 };
#define DATA_WIDTH(value) (((value) & 15u) + 1u)
#define STOP_BITS(value) ((value) & 7u)
enum { ONE_STOP_BIT = 1 };
#define FIFO_CLEAR (1u << 16)
enum { NOT_EMPTY = 1 << 2 };
/** 16-bit divider: by its upper field and one. */
#define DIVISOR(value) (((value) >> 8 & 0xFFFFu) + 1u)

static struct {
    uint32_t registers[UART_LINE_WINDOW / 4];
    const struct board_uart *slot;
    struct uart_line line;
} uart;

static uint32_t reg(enum scb_register offset)
{
    return uart.registers[offset / 4];
}

/* --- The line --------------------------------------------------------------- */

static uint32_t speed(void)
{
    const uint32_t divisor = DIVISOR(registers_load(uart.slot->divider));
    return uart.slot->clock_hz / divisor / CTRL_OVERSAMPLING(reg(CTRL));
}

static const char *line_error(void)
{
    if (!gate_is_open(&uart.slot->pins)) {
        return "no pin is connected";
    }
    if (!(reg(CTRL) & CTRL_ENABLED) || CTRL_MODE(reg(CTRL)) != MODE_UART || reg(UART_CTRL) != 0) {
        return "the SCB is not an enabled UART";
    }
    if (DATA_WIDTH(reg(TX_CTRL)) != 8 || DATA_WIDTH(reg(RX_CTRL)) != 8 ||
        STOP_BITS(reg(UART_TX_CTRL)) != ONE_STOP_BIT ||
        STOP_BITS(reg(UART_RX_CTRL)) != ONE_STOP_BIT) {
        return "the format is not eight bits and one stop bit";
    }
    return uart_line_is_standard_speed(speed()) ? NULL : "the speed is not a standard baud rate";
}

/** The request stays until it is cleared, and comes back while the FIFO is not empty. */
static void update(void)
{
    uart.registers[INTR_RX / 4] |= uart.line.count > 0 ? NOT_EMPTY : 0;
    qemu_set_irq(machine_irq(uart.slot->irq), (reg(INTR_RX) & reg(INTR_RX_MASK)) != 0);
}

/* --- Registers ---------------------------------------------------------------- */

static uint32_t read_register(void *context, uint32_t offset)
{
    (void)context;
    switch (offset) {
    case TX_FIFO_STATUS:
        return 0; // output is sent immediately
    case RX_FIFO_STATUS:
        return uart.line.count;
    case RX_FIFO_RD:
        return uart_line_take(&uart.line);
    case INTR_RX_MASKED:
        return reg(INTR_RX) & reg(INTR_RX_MASK);
    default:
        return uart.registers[offset / 4];
    }
}

static void write_register(void *context, uint32_t offset, uint32_t value)
{
    (void)context;
    if (offset == TX_FIFO_WR) {
        uart_line_send(&uart.line, value);
    } else if (offset == INTR_RX) {
        uart.registers[offset / 4] &= ~value;
    } else {
        uart.registers[offset / 4] = value;
    }
    if ((offset == RX_FIFO_CTRL && value & FIFO_CLEAR) ||
        (offset == CTRL && !(value & CTRL_ENABLED))) {
        uart_line_clear(&uart.line);
    }
    update();
    uart_line_accept(&uart.line);
}

/* --- Start and reset ------------------------------------------------------------ */

static void reset(void *opaque)
{
    (void)opaque;
    memset(uart.registers, 0, sizeof uart.registers);
    uart_line_clear(&uart.line);
    update();
}

void uart_scb_create(const struct board_uart *slot)
{
    uart.slot = slot;
    uart.line = (struct uart_line){.size = 128, .error = line_error, .update = update};
    uart_line_create(&uart.line, slot, read_register, write_register);
    qemu_register_reset(reset, NULL);
}
