// SPDX-License-Identifier: MIT
/** The console over the board's UART and, in an image for the emulator, over its page too. */
#include "console.h"

#include <string.h>

#include "board.h"
#include "irq.h"
#include "py/runtime.h"
#include "ring.h"
#include "shared/runtime/interrupt_char.h"

#ifdef FIRMWARE_EMULATOR
#include "emulator.h"
#endif

static const struct console_port *const ports[] = {
    &board_uart,
#ifdef FIRMWARE_EMULATOR
    &emulator_console,
    &emulator_log_port,
#endif
};
#define PORT_COUNT (sizeof(ports) / sizeof(ports[0]))

static struct ring ring;
static bool started[PORT_COUNT];

/**
 * The port of the last input. The UART cannot see whether a terminal is
 * attached, so it gets the output unless this is another port with a listener.
 */
static const struct console_port *volatile last_input = &board_uart;

/** Some port left bytes outside because the ring was full. */
static volatile bool stalled;

void console_start(void)
{
    for (size_t i = 0; i < PORT_COUNT; i++) {
        started[i] = ports[i]->start();
    }
}

size_t console_room(void)
{
    size_t room = ring_room(&ring);
    if (room == 0) {
        stalled = true;
    }
    return room;
}

void console_receive(const struct console_port *port, uint8_t value)
{
    last_input = port;
    if (value == mp_interrupt_char) {
        mp_sched_keyboard_interrupt();
    } else {
        ring_put(&ring, value);
    }
}

size_t console_waiting(void)
{
    return ring_count(&ring);
}

uint8_t console_read(void)
{
    uint8_t value = ring_get(&ring);
    if (stalled && ring_room(&ring) >= RING_SIZE / 2) {
        uint32_t state = irq_mask();
        stalled = false;
        for (size_t i = 0; i < PORT_COUNT; i++) {
            if (started[i]) {
                ports[i]->resume();
            }
        }
        irq_restore(state);
    }
    return value;
}

void console_write(const char *bytes, size_t size)
{
    bool taken = false;
    for (size_t i = 0; i < PORT_COUNT; i++) {
        if (started[i] && ports[i]->has_peer != NULL && ports[i]->has_peer()) {
            ports[i]->send(bytes, size);
            taken = taken || ports[i] == last_input;
        }
    }
    if (!taken) {
        board_uart.send(bytes, size);
    }
}

void console_alarm(const char *text)
{
    size_t size = strlen(text);
    for (size_t i = 0; i < PORT_COUNT; i++) {
        if (started[i]) {
            ports[i]->send(text, size);
        }
    }
}
