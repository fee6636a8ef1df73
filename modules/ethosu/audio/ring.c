// SPDX-License-Identifier: MIT
/**
 * A ring of samples with one writer and one reader; see ethosu_audio.h. Each side writes only its
 * own index, after the samples, so no lock is needed.
 */
#include "ethosu_audio.h"

#include <string.h>

static uint32_t load(const uint32_t *index)
{
    return __atomic_load_n(index, __ATOMIC_ACQUIRE);
}

static void advance(uint32_t *index, uint32_t count)
{
    __atomic_store_n(index, *index + count, __ATOMIC_RELEASE);
}

/** Samples of `count`, from `index` on, that fit before the end of the memory. */
static uint32_t contiguous(const struct ethosu_audio_ring *ring, uint32_t index, uint32_t count)
{
    uint32_t to_end = ring->size - index % ring->size;
    return count < to_end ? count : to_end;
}

uint32_t ethosu_audio_ring_count(const struct ethosu_audio_ring *ring)
{
    return load(&ring->written) - load(&ring->read);
}

uint32_t ethosu_audio_ring_room(struct ethosu_audio_ring *ring, int16_t **samples)
{
    uint32_t room = ring->size - (ring->written - load(&ring->read));
    *samples = ring->samples + ring->written % ring->size;
    return contiguous(ring, ring->written, room);
}

void ethosu_audio_ring_wrote(struct ethosu_audio_ring *ring, uint32_t count)
{
    advance(&ring->written, count);
}

void ethosu_audio_ring_write(struct ethosu_audio_ring *ring, const int16_t *samples, size_t count)
{
    int16_t *place;
    uint32_t room;
    while (count > 0 && (room = ethosu_audio_ring_room(ring, &place)) > 0) {
        uint32_t fitting = count < room ? (uint32_t)count : room;
        memcpy(place, samples, fitting * sizeof(*samples));
        ethosu_audio_ring_wrote(ring, fitting);
        samples += fitting;
        count -= fitting;
    }
    if (count > 0) {
        ring->lost += (uint32_t)count;
        ring->overruns++;
    }
}

uint32_t ethosu_audio_ring_piece(const struct ethosu_audio_ring *ring, const int16_t **samples)
{
    *samples = ring->samples + ring->read % ring->size;
    return contiguous(ring, ring->read, load(&ring->written) - ring->read);
}

void ethosu_audio_ring_took(struct ethosu_audio_ring *ring, uint32_t count)
{
    advance(&ring->read, count);
}
