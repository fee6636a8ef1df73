// SPDX-License-Identifier: MIT
/**
 * Evictions and speculative fetches at random moments. Lines are chosen near those that bus masters
 * used last, since lines farther away would rarely expose a fault.
 */
#include "coherence/coherence_line.h"

/** Lines on either side of a bus master's data that may share a cache line with it. */
#define MARGIN 2u

/** Maximum lines in one eviction; most evictions are far shorter. */
#define BURST 16u
#define LONG_BURST 2048u

void coherence_evict(struct coherence *c, bool on, uint32_t seed)
{
    c->evicting = on;
    c->random = seed;
}

/** A number below `limit`: splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t random_below(struct coherence *c, uint64_t limit)
{
    c->random += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t z = c->random;
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return (z ^ z >> 31) % limit;
}

static void record_span(struct coherence *c, uint64_t address, uint64_t length)
{
    for (size_t i = 0; i < c->recent_count; i++) {
        if (c->recent[i].address == address && c->recent[i].length == length) {
            return;
        }
    }
    c->recent[c->recent_next] = (struct coherence_span){address, length};
    c->recent_next = (c->recent_next + 1) % COHERENCE_RECENT_MAX;
    c->recent_count += c->recent_count < COHERENCE_RECENT_MAX;
}

static void fetch_if_clean(const struct coherence_range *range, uint64_t line)
{
    if (range->state[line] == 0 && !coherence_line_dirty(range, line)) {
        coherence_line_fetch(range, line);
    }
}

static void disturb_line(const struct coherence_range *range, uint64_t line, bool evict, bool fetch)
{
    if (range->attribute != COHERENCE_WRITE_BACK) {
        // Stores arrive without an eviction. Draining uncached memory also loads, so it needs
        // `fetch`.
        if (evict && (fetch || range->attribute == COHERENCE_WRITE_THROUGH)) {
            coherence_line_drain(range, line);
        }
    } else if (evict) {
        coherence_line_write_back(range, line);
    }
    if (fetch && range->attribute != COHERENCE_UNCACHED) {
        fetch_if_clean(range, line);
    }
}

/** Write back, fetch, or both, some lines near one recently used span. */
static void disturb(struct coherence *c, bool cpu_stopped)
{
    const struct coherence_span *span = &c->recent[random_below(c, c->recent_count)];
    const struct coherence_range *range = coherence_find(c, span->address, span->length);
    uint64_t action = 1 + random_below(c, 3), whole = random_below(c, 8),
             burst = 1 + random_below(c, BURST);
    uint64_t position = random_below(c, UINT64_C(1) << 32);
    if (range == NULL) {
        return; // removed in the meantime
    }
    uint64_t start = (span->address - range->base) / COHERENCE_LINE;
    uint64_t end = (span->address - range->base + span->length) / COHERENCE_LINE + 1 + MARGIN;
    uint64_t all = (range->size + COHERENCE_LINE - 1) / COHERENCE_LINE;
    start = start > MARGIN ? start - MARGIN : 0;
    end = end < all ? end : all;
    uint64_t line = whole == 0 ? start : start + position % (end - start);
    uint64_t count = whole == 0 ? LONG_BURST : burst;
    for (; count > 0 && line < end; count--, line++) {
        disturb_line(range, line, action & 1, action & 2 && cpu_stopped);
    }
}

void coherence_event(struct coherence *c, bool cpu_stopped)
{
    if (!c->evicting || c->recent_count == 0 || random_below(c, 2) == 0) {
        return;
    }
    bool completes = c->queued > 0 && random_below(c, 4) == 0;
    if (completes && (cpu_stopped || !(c->queue[0].operation & COHERENCE_INVALIDATE))) {
        coherence_commit_first(c);
    }
    for (uint64_t count = 1 + random_below(c, 4); count > 0; count--) {
        disturb(c, cpu_stopped);
    }
}

uint8_t *coherence_map(struct coherence *c, uint64_t address, uint64_t length, bool cpu_stopped)
{
    uint8_t *memory = coherence_memory(c, address, length);
    if (memory != NULL && c->evicting) {
        record_span(c, address, length);
        coherence_event(c, cpu_stopped);
    }
    return memory;
}
