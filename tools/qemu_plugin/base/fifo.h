// SPDX-License-Identifier: MIT
/** A ring of bytes. */
#ifndef FIFO_H
#define FIFO_H

#include <stddef.h>
#include <stdint.h>

#define FIFO_SIZE 65536u /**< a power of two */

struct fifo {
    uint8_t bytes[FIFO_SIZE];
    uint32_t put, taken; /**< total bytes, modulo 2^32 */
};

static inline size_t fifo_used(const struct fifo *fifo)
{
    return fifo->put - fifo->taken;
}

static inline size_t fifo_room(const struct fifo *fifo)
{
    return FIFO_SIZE - fifo_used(fifo);
}

static inline void fifo_clear(struct fifo *fifo)
{
    fifo->taken = fifo->put;
}

/** Append as many bytes as fit; returns how many. */
size_t fifo_put(struct fifo *fifo, const uint8_t *bytes, size_t size);

/** Remove up to `size` bytes; returns how many. */
size_t fifo_take(struct fifo *fifo, uint8_t *bytes, size_t size);

/** The oldest contiguous bytes; returns how many. */
size_t fifo_peek(const struct fifo *fifo, const uint8_t **bytes);

/** Drop up to `size` of the oldest bytes. */
static inline void fifo_drop(struct fifo *fifo, size_t size)
{
    fifo->taken += (uint32_t)size;
}

#endif
