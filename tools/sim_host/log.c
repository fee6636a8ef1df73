// SPDX-License-Identifier: MIT
/** Log of the simulator and this process, kept until it is read. */
#include "sim_host_internal.h"

#include <stdio.h>
#include <string.h>

static struct {
    pthread_mutex_t lock;
    char lines[4096];
    char taken[4096];
    size_t length;
} journal = {.lock = PTHREAD_MUTEX_INITIALIZER};

void sim_host_print(const char *line)
{
    pthread_mutex_lock(&journal.lock);
    size_t room = sizeof journal.lines - journal.length;
    int added = snprintf(journal.lines + journal.length, room, "%s\n", line);
    if (added > 0 && (size_t)added < room) {
        journal.length += (size_t)added;
    }
    pthread_mutex_unlock(&journal.lock);
}

const char *sim_host_log(void)
{
    pthread_mutex_lock(&journal.lock);
    memcpy(journal.taken, journal.lines, journal.length);
    journal.taken[journal.length] = '\0';
    journal.length = 0;
    pthread_mutex_unlock(&journal.lock);
    return journal.taken;
}
