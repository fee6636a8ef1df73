// SPDX-License-Identifier: MIT
/**
 * The fast console: two FIFOs between the guest and one client on the host.
 *
 * While a client has it open, nothing is lost in either direction: a full FIFO
 * makes the writer wait. What the guest sends while nobody listens is dropped,
 * as on a serial line, except before the first client, which finds the
 * messages of the start-up. Everything here belongs to QEMU's big lock.
 */
#ifndef CONSOLE_H
#define CONSOLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Called whenever bytes came in or room came free. */
typedef void (*console_changed)(void *context);

/** Open the host's end, a pseudo terminal. False: it cannot be, and an error was printed. */
bool console_open(void);

/** Begin to serve clients, and print where: once QEMU's main loop is there. */
void console_start(console_changed changed, void *context);

/** Is there a console at all? If not, sending drops and nothing is ever received. */
bool console_exists(void);

/** Take up to `size` bytes for the client; returns how many. */
size_t console_send(const uint8_t *bytes, size_t size);

/** Deliver up to `size` bytes from the client; returns how many. */
size_t console_receive(uint8_t *bytes, size_t size);

size_t console_waiting(void); /**< bytes that console_receive() would deliver */
size_t console_space(void);   /**< bytes that console_send() would take */
bool console_has_client(void);

/**
 * Let something happen on the line, as if a client had done it.
 *
 * "interrupt": `count` times Ctrl-C. "noise": `count` bytes of any value.
 * "lost": the next `count` bytes of the client do not arrive.
 *
 * @return  false: no such fault
 */
bool console_inject(const char *fault, unsigned count);

#endif
