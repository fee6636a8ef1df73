// SPDX-License-Identifier: MIT
/**
 * A UART to copy to chip/uart_NAME.c: DATA, STATUS with bit 0 if a byte has come, and CONTROL,
 * which switches it on, and its interrupt. Name here the source of registers and bits.
 */
#include "base/qemu_api.h"
#include "board/machine.h"
#include "chip/chip.h"
#include "chip/uart_line.h"

enum uart_register { DATA = 0x0, STATUS = 0x4, CONTROL = 0x8 };
enum control { ON = 1 << 0, INTERRUPT = 1 << 1 };

static struct {
    qemu_irq irq;
    uint32_t control;
    struct uart_line line;
} uart;

/** Why no byte passes. */
static const char *line_error(void)
{
    return uart.control & ON ? NULL : "it is off";
}

static void update(void)
{
    qemu_set_irq(uart.irq, uart.line.count > 0 && uart.control & INTERRUPT);
}

static uint32_t read_register(void *context, uint32_t offset)
{
    (void)context;
    switch (offset) {
    case DATA:
        return uart_line_take(&uart.line);
    case STATUS:
        return uart.line.count > 0;
    default:
        return offset == CONTROL ? uart.control : 0;
    }
}

static void write_register(void *context, uint32_t offset, uint32_t value)
{
    (void)context;
    if (offset == DATA) {
        uart_line_send(&uart.line, value);
    } else if (offset == CONTROL) {
        uart.control = value;
        update();
        uart_line_accept(&uart.line); // bytes may have waited for it
    }
}

static void reset(void *opaque)
{
    (void)opaque;
    uart.control = 0;
    uart_line_clear(&uart.line);
    update();
}

void uart_template_create(const struct board_uart *slot)
{
    uart.irq = machine_irq(slot->irq);
    uart.line = (struct uart_line){.size = 16, .error = line_error, .update = update};
    uart_line_create(&uart.line, slot, read_register, write_register);
    qemu_register_reset(reset, NULL);
}
