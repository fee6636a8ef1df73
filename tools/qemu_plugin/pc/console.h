// SPDX-License-Identifier: MIT
/**
 * The fast console: two FIFOs between the guest and one client on the host.
 *
 * While a client has it open, nothing is lost in either direction: a full FIFO makes the writer
 * wait. Without a client, the guest's output is dropped as on a serial line. Output before the
 * first client connects is kept, so that the client sees the start-up messages. Everything here
 * belongs to QEMU's big lock.
 */
#ifndef CONSOLE_H
#define CONSOLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Called when bytes have arrived or space has become free. */
typedef void (*console_changed)(void *context);

/** Open the host's end, a pseudo terminal. On failure prints an error and returns false. */
bool console_open(void);

/** Start serving clients, and print the terminal's path. Call it once QEMU's main loop exists. */
void console_start(console_changed changed, void *context);

/** Does a console exist? Otherwise output is dropped and nothing is received. */
bool console_exists(void);

/** Queue up to `size` bytes for the client; returns how many. */
size_t console_send(const uint8_t *bytes, size_t size);

/** Deliver up to `size` bytes from the client; returns how many. */
size_t console_receive(uint8_t *bytes, size_t size);

size_t console_waiting(void); /**< bytes that console_receive() would deliver */
size_t console_space(void);   /**< bytes that console_send() would take */
bool console_has_client(void);

/**
 * Inject something on the line, as if a client had done it.
 *
 * "interrupt": `count` times Ctrl-C. "noise": `count` random bytes. "lost": drop the next `count`
 * bytes from the client.
 *
 * @return  false if the fault is unknown
 */
bool console_inject(const char *fault, unsigned count);

#endif
