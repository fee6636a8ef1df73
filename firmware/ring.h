// SPDX-License-Identifier: MIT
/**
 * A ring of bytes with one writer and one reader, of which one may be an
 * interrupt: each side writes only its own index, so no lock is needed.
 */
#ifndef FIRMWARE_RING_H
#define FIRMWARE_RING_H

#include <stddef.h>
#include <stdint.h>

/** Bytes that a ring holds; a power of two. */
#define RING_SIZE 8192u

struct ring {
    volatile uint32_t written; /**< bytes ever written, modulo 2^32 */
    volatile uint32_t read;    /**< bytes ever read, modulo 2^32 */
    uint8_t bytes[RING_SIZE];
};

/** Bytes that can be read. */
static inline size_t ring_count(const struct ring *ring)
{
    return ring->written - ring->read;
}

/** Bytes that can be written. */
static inline size_t ring_room(const struct ring *ring)
{
    return RING_SIZE - ring_count(ring);
}

/** Write one byte; the caller has seen that there is room. */
static inline void ring_put(struct ring *ring, uint8_t value)
{
    ring->bytes[ring->written % RING_SIZE] = value;
    ring->written = ring->written + 1u;
}

/** Read one byte; the caller has seen that there is one. */
static inline uint8_t ring_get(struct ring *ring)
{
    uint8_t value = ring->bytes[ring->read % RING_SIZE];
    ring->read = ring->read + 1u;
    return value;
}

#endif
