// SPDX-License-Identifier: MIT
/**
 * The fast console: two FIFOs between the guest and one client on our own pseudo
 * terminal (README.md explains why not QEMU's).
 *
 * The kernel reports a hang-up condition continuously while no client has the
 * terminal open, so the terminal is polled only when inotify reports that it was
 * opened or closed.
 */
#include "pc/console.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <termios.h>
#include <unistd.h>

#include "base/fifo.h"
#include "base/message.h"
#include "base/qemu_api.h"

static struct {
    char path[64]; /**< of the terminal, or "" without a console */
    int terminal;
    int watch; /**< inotify: becomes readable when the terminal is opened or closed */
    console_changed changed;
    void *context;
    struct fifo to_guest;
    struct fifo to_client;
    bool client;           /**< a client has the terminal open */
    bool had_client;       /**< a client has had it open before */
    bool bytes_left;       /**< more bytes may be available from the current or last client */
    size_t to_drop;        /**< number of client bytes to drop */
    bool reading, writing; /**< polled by QEMU's main loop */
} console;

/** Have QEMU's main loop poll only for possible progress, so that it can sleep. */
static void update_handlers(void);

/* --- The terminal ----------------------------------------------------------- */

/** Set raw mode, and flush data that the last client did not read. */
static bool refresh_terminal(const char *path)
{
    int terminal = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (terminal < 0) {
        return false;
    }
    struct termios settings;
    bool right = tcgetattr(terminal, &settings) == 0;
    cfmakeraw(&settings);
    right = right && tcsetattr(terminal, TCSANOW, &settings) == 0;
    tcflush(terminal, TCIFLUSH);
    close(terminal);
    return right;
}

static bool open_terminal(void)
{
    console.terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    if (console.terminal < 0 || grantpt(console.terminal) < 0 || unlockpt(console.terminal) < 0 ||
        ptsname_r(console.terminal, console.path, sizeof console.path) != 0) {
        return false;
    }
    console.watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    // Opening and closing it once also starts the hang-up condition.
    return refresh_terminal(console.path) &&
           inotify_add_watch(console.watch, console.path, IN_OPEN | IN_CLOSE) >= 0;
}

/** Does a client have it open? */
static bool is_open(void)
{
    char events[4096];
    while (read(console.watch, events, sizeof events) > 0) {
    }
    struct pollfd terminal = {.fd = console.terminal};
    return poll(&terminal, 1, 0) == 0;
}

/* --- Bytes ---------------------------------------------------------------- */

static void client_left(void)
{
    console.client = false;
    fifo_clear(&console.to_client);
}

static void input_ended(void)
{
    client_left();
    console.bytes_left = false;
    update_handlers();
    refresh_terminal(console.path);
}

/** Read what fits. Ends when the FIFO is full, no bytes are left, or the client has closed. */
static void pump_to_guest(void)
{
    size_t room;
    while (console.bytes_left && (room = fifo_room(&console.to_guest)) > 0) {
        uint8_t bytes[4096];
        size_t wanted = room < sizeof bytes ? room : sizeof bytes;
        ssize_t got = read(console.terminal, bytes, wanted);
        if (got > 0) {
            size_t lost = console.to_drop < (size_t)got ? console.to_drop : (size_t)got;
            console.to_drop -= lost;
            fifo_put(&console.to_guest, bytes + lost, (size_t)got - lost);
        } else if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
            return;
        } else {
            input_ended();
        }
    }
}

static void pump_to_client(void)
{
    const uint8_t *bytes;
    size_t size;
    while (console.client && (size = fifo_peek(&console.to_client, &bytes)) > 0) {
        ssize_t put = write(console.terminal, bytes, size);
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

/** Transfer as many bytes as possible, and notify the guest. */
static void pump(void *opaque)
{
    (void)opaque;
    pump_to_guest();
    pump_to_client();
    update_handlers();
    console.changed(console.context);
}

/** A client has opened or closed the terminal. */
static void client_changed(void *opaque)
{
    bool present = is_open();
    if (present) {
        console.client = console.had_client = true;
    } else if (console.client) {
        client_left();
    }
    struct pollfd data = {.fd = console.terminal, .events = POLLIN};
    bool sent_before_it_left = poll(&data, 1, 0) > 0 && (data.revents & POLLIN);
    console.bytes_left = console.bytes_left || present || sent_before_it_left;
    pump(opaque);
}

static void update_handlers(void)
{
    bool reading = console.bytes_left && fifo_room(&console.to_guest) > 0;
    bool writing = console.client && fifo_used(&console.to_client) > 0;
    if (reading != console.reading || writing != console.writing) {
        qemu_set_fd_handler(console.terminal, reading ? pump : NULL, writing ? pump : NULL, NULL);
    }
    console.reading = reading;
    console.writing = writing;
}

/* --- The guest's side ----------------------------------------------------- */

bool console_exists(void)
{
    return console.path[0] != 0;
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

/** The same count gives the same bytes. */
static void insert_noise(unsigned count)
{
    for (uint32_t state = count; count > 0; count--) {
        state = state * 1664525u + 1013904223u;
        put((uint8_t)(state >> 24));
    }
}

static void drop_bytes(unsigned count)
{
    console.to_drop = count;
}

bool console_inject(const char *fault, unsigned count)
{
    static const struct {
        const char *name;
        void (*happen)(unsigned count);
    } faults[] = {{"interrupt", interrupt}, {"noise", insert_noise}, {"lost", drop_bytes}};
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

/* --- Open ------------------------------------------------------------------- */

bool console_open(void)
{
    if (!open_terminal()) {
        message(MESSAGE_NONE, "cannot open a pseudo terminal: %s", strerror(errno));
        return false;
    }
    return true;
}

void console_start(console_changed changed, void *context)
{
    console.changed = changed;
    console.context = context;
    if (console_exists()) {
        qemu_set_fd_handler(console.watch, client_changed, NULL, NULL);
        update_handlers();
        message(MESSAGE_NONE, "console %s", console.path);
    }
}
