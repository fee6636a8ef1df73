// SPDX-License-Identifier: MIT
/** One cache line. The last line of a range may be shorter. */
#include "coherence/coherence_line.h"

#include <string.h>

/** Position of a line's bytes in each array. */
struct line_bytes {
    uint8_t *cpu, *memory, *snapshot, *state;
    size_t size;
};

static struct line_bytes find_line(const struct coherence_range *range, uint64_t line)
{
    uint64_t at = line * COHERENCE_LINE;
    uint64_t left = range->size - at;
    return (struct line_bytes){
        .cpu = range->cpu + at,
        .memory = range->memory + at,
        .snapshot = range->snapshot + at,
        .state = range->state + line,
        .size = left < COHERENCE_LINE ? (size_t)left : COHERENCE_LINE,
    };
}

static bool dirty(const struct line_bytes *bytes)
{
    return *bytes->state & COHERENCE_LINE_UNKNOWN ||
           memcmp(bytes->cpu, bytes->snapshot, bytes->size) != 0;
}

bool coherence_line_dirty(const struct coherence_range *range, uint64_t line)
{
    struct line_bytes bytes = find_line(range, line);
    return dirty(&bytes);
}

void coherence_line_clean(const struct coherence_range *range, uint64_t line)
{
    struct line_bytes bytes = find_line(range, line);
    if (dirty(&bytes)) {
        memcpy(bytes.snapshot, bytes.cpu, bytes.size);
        *bytes.state = COHERENCE_LINE_QUEUED;
    }
}

void coherence_line_commit(const struct coherence_range *range, uint64_t line)
{
    struct line_bytes bytes = find_line(range, line);
    if (*bytes.state & COHERENCE_LINE_QUEUED) {
        memcpy(bytes.memory, bytes.snapshot, bytes.size);
        *bytes.state = 0;
    }
}

void coherence_line_fetch(const struct coherence_range *range, uint64_t line)
{
    struct line_bytes bytes = find_line(range, line);
    memcpy(bytes.snapshot, bytes.memory, bytes.size);
    memcpy(bytes.cpu, bytes.snapshot, bytes.size);
    *bytes.state = 0;
}

void coherence_line_write_back(const struct coherence_range *range, uint64_t line)
{
    struct line_bytes bytes = find_line(range, line);
    if (dirty(&bytes)) {
        // The CPU may be storing concurrently; bytes not in the snapshot stay dirty.
        memcpy(bytes.snapshot, bytes.cpu, bytes.size);
        memcpy(bytes.memory, bytes.snapshot, bytes.size);
        *bytes.state = 0;
    }
}

static void drain_stores(const struct line_bytes *bytes)
{
    bool all = *bytes->state & COHERENCE_LINE_UNKNOWN;
    for (size_t i = 0; i < bytes->size; i++) {
        uint8_t byte = bytes->cpu[i];
        if (all || byte != bytes->snapshot[i]) {
            bytes->snapshot[i] = byte;
            bytes->memory[i] = byte;
        }
    }
    *bytes->state = 0;
}

void coherence_line_drain(const struct coherence_range *range, uint64_t line)
{
    struct line_bytes bytes = find_line(range, line);
    if (dirty(&bytes)) {
        drain_stores(&bytes);
    }
    if (range->attribute == COHERENCE_UNCACHED &&
        memcmp(bytes.memory, bytes.snapshot, bytes.size) != 0) {
        coherence_line_fetch(range, line);
    }
}
