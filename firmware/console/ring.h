// SPDX-License-Identifier: MIT
/**
 * A ring of bytes with one writer and one reader, one of which may be an
 * interrupt. Each side writes only its own index, so no lock is needed.
 */
#ifndef FIRMWARE_RING_H
#define FIRMWARE_RING_H

#include <stddef.h>
#include <stdint.h>

/** Capacity of a ring in bytes; a power of two. */
#define RING_SIZE 8192u

struct ring {
    uint32_t written; /**< bytes ever written, modulo 2^32 */
    uint32_t read;    /**< bytes ever read, modulo 2^32 */
    uint8_t bytes[RING_SIZE];
};

/** Bytes that can be read. */
static inline size_t ring_count(const struct ring *ring)
{
    return __atomic_load_n(&ring->written, __ATOMIC_ACQUIRE) -
           __atomic_load_n(&ring->read, __ATOMIC_ACQUIRE);
}

/** Bytes that can be written. */
static inline size_t ring_room(const struct ring *ring)
{
    return RING_SIZE - ring_count(ring);
}

/** Write one byte; the caller has checked for room. The index is updated after the byte. */
static inline void ring_put(struct ring *ring, uint8_t value)
{
    uint32_t written = ring->written;
    ring->bytes[written % RING_SIZE] = value;
    __atomic_store_n(&ring->written, written + 1u, __ATOMIC_RELEASE);
}

/** Read one byte; the caller has checked that one is available. */
static inline uint8_t ring_get(struct ring *ring)
{
    uint32_t read = ring->read;
    uint8_t value = ring->bytes[read % RING_SIZE];
    __atomic_store_n(&ring->read, read + 1u, __ATOMIC_RELEASE);
    return value;
}

#endif
