// SPDX-License-Identifier: MIT
/**
 * A Unix socket as the console's host end: one client at a time, others wait.
 */
#include "console_endpoint.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "message.h"

/** Remove the socket that an earlier process left; anything else there is not ours. */
static void remove_stale_socket(const char *path)
{
    struct stat found;
    if (lstat(path, &found) == 0 && S_ISSOCK(found.st_mode)) {
        unlink(path);
    }
}

static bool listen_at(struct console_endpoint *endpoint)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, endpoint->path, strlen(endpoint->path) + 1);
    remove_stale_socket(endpoint->path);
    endpoint->watch = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return endpoint->watch >= 0 &&
           bind(endpoint->watch, (struct sockaddr *)&address, sizeof address) == 0 &&
           listen(endpoint->watch, 4) == 0;
}

static bool unix_open(struct console_endpoint *endpoint, const char *address)
{
    size_t length = strlen(address);
    if (length == 0 || length >= sizeof endpoint->path) {
        message(MESSAGE_NONE,
                "console=unix:PATH: the path has %zu bytes, a socket's may have 1 to %zu", length,
                sizeof endpoint->path - 1);
        return false;
    }
    memcpy(endpoint->path, address, length + 1);
    if (!listen_at(endpoint)) {
        message(MESSAGE_NONE, "cannot listen at %s: %s", endpoint->path, strerror(errno));
        return false;
    }
    return true;
}

static bool unix_attend(struct console_endpoint *endpoint)
{
    endpoint->data = accept4(endpoint->watch, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    return endpoint->data >= 0;
}

static void unix_forget(struct console_endpoint *endpoint)
{
    close(endpoint->data);
    endpoint->data = -1;
}

static void unix_remove(struct console_endpoint *endpoint)
{
    unlink(endpoint->path);
}

const struct console_endpoint_kind console_unix = {
    .prefix = "unix:",
    .next_client_waits = true,
    .open = unix_open,
    .attend = unix_attend,
    .forget = unix_forget,
    .remove = unix_remove,
};
