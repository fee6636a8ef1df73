// SPDX-License-Identifier: MIT
/**
 * A pseudo terminal as the console's host end.
 *
 * The kernel tells by a hang-up condition whether a client has the terminal
 * open, and reports it without pause while none has: so the terminal is looked
 * at only when inotify says that it was opened or closed.
 */
#include "console_endpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <termios.h>
#include <unistd.h>

#include "message.h"

/** Raw bytes in both directions, and nothing left of what the last client did not read. */
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

static bool open_terminal(struct console_endpoint *endpoint)
{
    endpoint->data = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    if (endpoint->data < 0 || grantpt(endpoint->data) < 0 || unlockpt(endpoint->data) < 0 ||
        ptsname_r(endpoint->data, endpoint->path, sizeof endpoint->path) != 0) {
        return false;
    }
    endpoint->watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    // Opening and closing it once also starts the hang-up condition.
    return refresh_terminal(endpoint->path) &&
           inotify_add_watch(endpoint->watch, endpoint->path, IN_OPEN | IN_CLOSE) >= 0;
}

static bool pty_open(struct console_endpoint *endpoint, const char *address)
{
    if (*address) {
        message(MESSAGE_NONE, "console=pty takes no address, found \"%s\"", address);
        return false;
    }
    if (!open_terminal(endpoint)) {
        message(MESSAGE_NONE, "the host gives no pseudo terminal: %s", strerror(errno));
        return false;
    }
    return true;
}

static bool pty_attend(struct console_endpoint *endpoint)
{
    char events[4096];
    while (read(endpoint->watch, events, sizeof events) > 0) {
    }
    struct pollfd terminal = {.fd = endpoint->data};
    return poll(&terminal, 1, 0) == 0;
}

static void pty_forget(struct console_endpoint *endpoint)
{
    refresh_terminal(endpoint->path);
}

const struct console_endpoint_kind console_pty = {
    .prefix = "pty",
    .open = pty_open,
    .attend = pty_attend,
    .forget = pty_forget,
};
