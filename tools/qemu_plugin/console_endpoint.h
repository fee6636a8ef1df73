// SPDX-License-Identifier: MIT
/**
 * The host's end of the console: a place that one client at a time opens.
 *
 * `watch` becomes readable when something changed about clients; then the
 * console calls attend(). Bytes flow through `data`, which never blocks.
 */
#ifndef CONSOLE_ENDPOINT_H
#define CONSOLE_ENDPOINT_H

#include <stdbool.h>

struct console_endpoint;

struct console_endpoint_kind {
    const char *prefix; /**< of the plugin argument: "pty", "unix:" */
    /** A client that arrives while one is there waits: do not look at `watch` meanwhile. */
    bool next_client_waits;
    /** Open it at `address`, the rest of the argument. False: an error was printed. */
    bool (*open)(struct console_endpoint *endpoint, const char *address);
    /** Take note of what happened at `watch`; true while a client has the place open. */
    bool (*attend)(struct console_endpoint *endpoint);
    /** The client has gone and all its bytes are read: make ready for the next one. */
    void (*forget)(struct console_endpoint *endpoint);
    /** Remove what would stay behind when the process exits; NULL: nothing would. */
    void (*remove)(struct console_endpoint *endpoint);
};

struct console_endpoint {
    const struct console_endpoint_kind *kind;
    int watch;
    int data;       /**< -1: no client is there */
    char path[108]; /**< what a client opens; a socket's name may be no longer */
};

extern const struct console_endpoint_kind console_pty;
extern const struct console_endpoint_kind console_unix;

#endif
