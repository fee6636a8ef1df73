// SPDX-License-Identifier: MIT
/** See memory_dump.h. */
#include "memory/memory_dump.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/message.h"
#include "memory/guest_memory.h"

static const uint8_t *find(const struct memory_dump *dump)
{
    return guest_memory_map(MASTER_CPU, dump->address, dump->size, false);
}

void memory_dump_check(const struct memory_dump *dumps)
{
    for (; dumps->size; dumps++) {
        if (!find(dumps)) {
            fatal("no memory of this board has all %u bytes from 0x%08x on, which are to be dumped",
                  dumps->size, dumps->address);
        }
    }
}

void memory_dump_write(const struct memory_dump *dumps)
{
    for (; dumps->size; dumps++) {
        const uint8_t *next = find(dumps), *end = next + dumps->size;
        while (next < end) {
            ssize_t written = write(dumps->file, next, (size_t)(end - next));
            if (written > 0) {
                next += written;
            } else if (written == 0 || errno != EINTR) {
                message(MESSAGE_NONE, "the %u bytes from 0x%08x on cannot be dumped: %s",
                        dumps->size, dumps->address, strerror(errno));
                break;
            }
        }
    }
}
