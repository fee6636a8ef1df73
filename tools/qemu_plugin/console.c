// SPDX-License-Identifier: MIT
/** The fast console: two FIFOs between the guest and one client on the host. */
#include "console.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "console_endpoint.h"
#include "fifo.h"
#include "message.h"
#include "qemu_api.h"

static const struct console_endpoint_kind *const kinds[] = {&console_pty, &console_unix};
#define KIND_COUNT (sizeof kinds / sizeof kinds[0])

static struct {
    struct console_endpoint endpoint; /**< kind NULL: there is no console */
    console_changed changed;
    void *context;
    struct fifo to_guest;
    struct fifo to_client;
    bool client;     /**< one has the place open now */
    bool had_client; /**< one had it open at some time */
    bool bytes_left; /**< the client, or one that has just gone, may have sent more */
    size_t to_lose;  /**< bytes of the client that shall not arrive */
    bool watched, reading, writing; /**< what QEMU's main loop looks at for us */
} console;

/** Ask QEMU's main loop for just what can go on now, so that it sleeps otherwise. */
static void update_handlers(void);

/* --- Bytes ---------------------------------------------------------------- */

static void client_left(void)
{
    console.client = false;
    fifo_clear(&console.to_client);
}

static void end_of_bytes(void)
{
    client_left();
    console.bytes_left = false;
    update_handlers();
    console.endpoint.kind->forget(&console.endpoint);
}

/** Read what fits. Ends with the FIFO full, nothing there, or the client gone. */
static void pump_to_guest(void)
{
    size_t room;
    while (console.bytes_left && (room = fifo_room(&console.to_guest)) > 0) {
        uint8_t bytes[4096];
        size_t wanted = room < sizeof bytes ? room : sizeof bytes;
        ssize_t got = read(console.endpoint.data, bytes, wanted);
        if (got > 0) {
            size_t lost = console.to_lose < (size_t)got ? console.to_lose : (size_t)got;
            console.to_lose -= lost;
            fifo_put(&console.to_guest, bytes + lost, (size_t)got - lost);
        } else if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
            return;
        } else {
            end_of_bytes();
        }
    }
}

static void pump_to_client(void)
{
    const uint8_t *bytes;
    size_t size;
    while (console.client && (size = fifo_peek(&console.to_client, &bytes)) > 0) {
        ssize_t put = write(console.endpoint.data, bytes, size);
        if (put > 0) {
            fifo_drop(&console.to_client, (size_t)put);
        } else if (put < 0 && errno != EAGAIN && errno != EINTR) {
            client_left();
        } else {
            return;
        }
    }
}

/* --- Main loop ------------------------------------------------------------ */

/** Move what can be moved, and let the guest know. */
static void pump(void *opaque)
{
    (void)opaque;
    pump_to_guest();
    pump_to_client();
    update_handlers();
    console.changed(console.context);
}

/** A client came or went. */
static void attend(void *opaque)
{
    bool present = console.endpoint.kind->attend(&console.endpoint);
    if (present) {
        console.client = console.had_client = true;
    } else if (console.client) {
        client_left();
    }
    struct pollfd data = {.fd = console.endpoint.data, .events = POLLIN};
    bool sent_before_it_left = poll(&data, 1, 0) > 0 && (data.revents & POLLIN);
    console.bytes_left = console.bytes_left || present || sent_before_it_left;
    pump(opaque);
}

static void update_handlers(void)
{
    const struct console_endpoint *endpoint = &console.endpoint;
    bool watched = !(endpoint->kind->next_client_waits && console.bytes_left);
    bool reading = console.bytes_left && fifo_room(&console.to_guest) > 0;
    bool writing = console.client && fifo_used(&console.to_client) > 0;
    if (watched != console.watched) {
        qemu_set_fd_handler(endpoint->watch, watched ? attend : NULL, NULL, NULL);
    }
    if (reading != console.reading || writing != console.writing) {
        qemu_set_fd_handler(endpoint->data, reading ? pump : NULL, writing ? pump : NULL, NULL);
    }
    console.watched = watched;
    console.reading = reading;
    console.writing = writing;
}

/* --- The guest's side ----------------------------------------------------- */

bool console_exists(void)
{
    return console.endpoint.kind;
}

bool console_has_client(void)
{
    return console.client;
}

size_t console_waiting(void)
{
    return fifo_used(&console.to_guest);
}

size_t console_space(void)
{
    return console.client ? fifo_room(&console.to_client) : FIFO_SIZE;
}

size_t console_send(const uint8_t *bytes, size_t size)
{
    if (!console_exists() || (!console.client && console.had_client)) {
        return size;
    }
    size_t taken = fifo_put(&console.to_client, bytes, size);
    pump_to_client();
    update_handlers();
    return console.client ? taken : size;
}

size_t console_receive(uint8_t *bytes, size_t size)
{
    size_t taken = fifo_take(&console.to_guest, bytes, size);
    if (taken > 0) {
        pump_to_guest();
        update_handlers();
    }
    return taken;
}

/* --- Faults --------------------------------------------------------------- */

static void put(uint8_t byte)
{
    fifo_put(&console.to_guest, &byte, 1);
}

static void interrupt(unsigned count)
{
    while (count-- > 0) {
        put(0x03);
    }
}

/** The same bytes for the same count. */
static void noise(unsigned count)
{
    for (uint32_t state = count; count > 0; count--) {
        state = state * 1664525u + 1013904223u;
        put((uint8_t)(state >> 24));
    }
}

static void lose(unsigned count)
{
    console.to_lose = count;
}

bool console_inject(const char *fault, unsigned count)
{
    static const struct {
        const char *name;
        void (*happen)(unsigned count);
    } faults[] = {{"interrupt", interrupt}, {"noise", noise}, {"lost", lose}};
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        if (strcmp(faults[i].name, fault) == 0) {
            if (count > 0) {
                message(MESSAGE_GUEST_ERROR, "console: injected fault %s", fault);
            }
            faults[i].happen(count);
            console.changed(console.context);
            return true;
        }
    }
    return false;
}

/* --- Open and close --------------------------------------------------------- */

static const struct console_endpoint_kind *find_kind(const char *argument)
{
    for (size_t i = 0; i < KIND_COUNT; i++) {
        if (strncmp(argument, kinds[i]->prefix, strlen(kinds[i]->prefix)) == 0) {
            return kinds[i];
        }
    }
    return NULL;
}

bool console_open(const char *argument)
{
    const struct console_endpoint_kind *kind = find_kind(argument);
    if (!kind) {
        message(MESSAGE_NONE, "console=%s: expected pty or unix:PATH", argument);
        return false;
    }
    console.endpoint = (struct console_endpoint){.kind = kind, .watch = -1, .data = -1};
    return kind->open(&console.endpoint, argument + strlen(kind->prefix));
}

void console_start(console_changed changed, void *context)
{
    console.changed = changed;
    console.context = context;
    if (console_exists()) {
        update_handlers();
        message(MESSAGE_NONE, "console %s", console.endpoint.path);
    }
}

void console_close(void)
{
    if (console_exists() && console.endpoint.kind->remove) {
        console.endpoint.kind->remove(&console.endpoint);
    }
}
