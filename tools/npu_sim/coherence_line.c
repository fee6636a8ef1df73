// SPDX-License-Identifier: MIT
/** One cache line. The last line of a range may be shorter. */
#include "coherence_line.h"

#include <string.h>

/** Position of a line's bytes in each array. */
struct place {
    uint8_t *cpu, *memory, *snapshot, *state;
    size_t size;
};

static struct place place_of(const struct coherence_range *range, uint64_t line)
{
    uint64_t at = line * COHERENCE_LINE;
    uint64_t left = range->size - at;
    return (struct place){
        .cpu = range->cpu + at,
        .memory = range->memory + at,
        .snapshot = range->snapshot + at,
        .state = range->state + line,
        .size = left < COHERENCE_LINE ? (size_t)left : COHERENCE_LINE,
    };
}

static bool dirty(const struct place *place)
{
    return *place->state & COHERENCE_LINE_UNKNOWN ||
           memcmp(place->cpu, place->snapshot, place->size) != 0;
}

bool coherence_line_dirty(const struct coherence_range *range, uint64_t line)
{
    struct place place = place_of(range, line);
    return dirty(&place);
}

void coherence_line_clean(const struct coherence_range *range, uint64_t line)
{
    struct place place = place_of(range, line);
    if (dirty(&place)) {
        memcpy(place.snapshot, place.cpu, place.size);
        *place.state = COHERENCE_LINE_QUEUED;
    }
}

void coherence_line_arrive(const struct coherence_range *range, uint64_t line)
{
    struct place place = place_of(range, line);
    if (*place.state & COHERENCE_LINE_QUEUED) {
        memcpy(place.memory, place.snapshot, place.size);
        *place.state = 0;
    }
}

void coherence_line_fetch(const struct coherence_range *range, uint64_t line)
{
    struct place place = place_of(range, line);
    memcpy(place.snapshot, place.memory, place.size);
    memcpy(place.cpu, place.snapshot, place.size);
    *place.state = 0;
}

void coherence_line_write_back(const struct coherence_range *range, uint64_t line)
{
    struct place place = place_of(range, line);
    if (dirty(&place)) {
        // The CPU may be storing concurrently; bytes not in the snapshot stay dirty.
        memcpy(place.snapshot, place.cpu, place.size);
        memcpy(place.memory, place.snapshot, place.size);
        *place.state = 0;
    }
}

static void drain_stores(const struct place *place)
{
    bool all = *place->state & COHERENCE_LINE_UNKNOWN;
    for (size_t i = 0; i < place->size; i++) {
        uint8_t byte = place->cpu[i];
        if (all || byte != place->snapshot[i]) {
            place->snapshot[i] = byte;
            place->memory[i] = byte;
        }
    }
    *place->state = 0;
}

void coherence_line_drain(const struct coherence_range *range, uint64_t line)
{
    struct place place = place_of(range, line);
    if (dirty(&place)) {
        drain_stores(&place);
    }
    if (range->attribute == COHERENCE_UNCACHED &&
        memcmp(place.memory, place.snapshot, place.size) != 0) {
        coherence_line_fetch(range, line);
    }
}
