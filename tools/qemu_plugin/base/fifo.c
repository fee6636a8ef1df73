// SPDX-License-Identifier: MIT
/** A ring of bytes. */
#include "base/fifo.h"

#include <string.h>

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t fifo_put(struct fifo *fifo, const uint8_t *bytes, size_t size)
{
    size = smaller(size, fifo_room(fifo));
    size_t start = fifo->put % FIFO_SIZE;
    size_t first = smaller(size, FIFO_SIZE - start);
    memcpy(fifo->bytes + start, bytes, first);
    memcpy(fifo->bytes, bytes + first, size - first);
    fifo->put += (uint32_t)size;
    return size;
}

size_t fifo_peek(const struct fifo *fifo, const uint8_t **bytes)
{
    size_t start = fifo->taken % FIFO_SIZE;
    *bytes = fifo->bytes + start;
    return smaller(fifo_used(fifo), FIFO_SIZE - start);
}

size_t fifo_take(struct fifo *fifo, uint8_t *bytes, size_t size)
{
    size_t taken = 0;
    while (taken < size && fifo_used(fifo) > 0) {
        const uint8_t *oldest;
        size_t piece = smaller(fifo_peek(fifo, &oldest), size - taken);
        memcpy(bytes + taken, oldest, piece);
        fifo_drop(fifo, piece);
        taken += piece;
    }
    return taken;
}
