// SPDX-License-Identifier: MIT
/** The line of an emulated UART. */
#include "chip/uart_line.h"

#include "base/message.h"
#include "board/machine.h"

static CharFrontend *frontend(struct uart_line *line)
{
    return (CharFrontend *)line->frontend;
}

bool uart_line_is_standard_speed(uint32_t bits_per_second)
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

static int can_receive(void *opaque)
{
    struct uart_line *line = opaque;
    return line->error() ? 0 : (int)(line->size - line->count);
}

static void receive(void *opaque, const uint8_t *bytes, int size)
{
    struct uart_line *line = opaque;
    for (int i = 0; i < size && line->count < line->size; i++) {
        line->received[(line->first + line->count++) % line->size] = bytes[i];
    }
    line->update();
}

uint32_t uart_line_take(struct uart_line *line)
{
    if (line->count == 0) {
        return 0;
    }
    const uint32_t value = line->received[line->first];
    line->first = (line->first + 1) % line->size;
    line->count--;
    line->update();
    uart_line_accept(line);
    return value;
}

static bool is_valid(struct uart_line *line)
{
    const char *reason = line->error();
    if (reason && !line->reported) {
        message(MESSAGE_GUEST_ERROR, "uart: %s: bytes are lost", reason);
    }
    line->reported = reason;
    return !reason;
}

void uart_line_send(struct uart_line *line, uint32_t value)
{
    const uint8_t byte = (uint8_t)value;
    if (is_valid(line)) {
        qemu_chr_fe_write_all(frontend(line), &byte, 1);
    }
}

void uart_line_clear(struct uart_line *line)
{
    line->count = 0;
}

void uart_line_accept(struct uart_line *line)
{
    qemu_chr_fe_accept_input(frontend(line));
}

void uart_line_create(struct uart_line *line, const struct board_uart *slot,
                      uint32_t (*read)(void *, uint32_t), void (*write)(void *, uint32_t, uint32_t))
{
    if (serial_hd(0) && qemu_chr_fe_init(frontend(line), serial_hd(0), NULL)) {
        qemu_chr_fe_set_handlers(frontend(line), can_receive, receive, NULL, NULL, line, NULL,
                                 true);
    }
    machine_map(&(struct machine_window){.name = "uart",
                                         .base = slot->base,
                                         .size = UART_LINE_WINDOW,
                                         .read = read,
                                         .write = write,
                                         .gate = &slot->gate},
                NULL);
}
