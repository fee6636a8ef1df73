// SPDX-License-Identifier: MIT
/**
 * The console: input and output of the REPL on one or more ports.
 *
 * Input of all ports goes through one ring. If the ring is full, a port holds
 * its bytes back until its resume function is called. Output goes to every port
 * whose peer may be listening.
 */
#ifndef FIRMWARE_CONSOLE_H
#define FIRMWARE_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** One way in and out. Its interrupt must have the common device priority. */
struct console_port {
    /** Begin to receive; false when the port does not exist. */
    bool (*start)(void);
    /** Resume receiving, because the ring has room again. Called with interrupts masked. */
    void (*resume)(void);
    /** Is a peer listening? NULL if the port cannot detect it. */
    bool (*has_peer)(void);
    /** Send and return when it is on its way; works in fault handlers. */
    void (*send)(const char *bytes, size_t size);
};

/** Start all ports. */
void console_start(void);

/** Bytes that may be handed to console_receive() now (called by ports). */
size_t console_room(void);

/** Hand over one byte that came in by `port` (called by ports, in their interrupt). */
void console_receive(const struct console_port *port, uint8_t value);

/** Bytes waiting to be read. */
size_t console_waiting(void);

/** Take one byte, which must be waiting. */
uint8_t console_read(void);

/** Write to all ports whose peer may be listening. */
void console_write(const char *bytes, size_t size);

/** Write to all ports, from any context. */
void console_alarm(const char *text);

#endif
