// SPDX-License-Identifier: MIT
/** Ranges, cache maintenance and barriers; see coherence.h. */
#include "coherence/coherence_line.h"

#include <stdlib.h>
#include <string.h>

/** Some lines of a range. */
struct lines {
    uint64_t first;
    uint64_t count;
};

/* ---- the user's choice ---- */

bool coherence_parse(const char *text, struct coherence_mode *mode)
{
    static const char prefix[] = "evict:";
    const char *digits = text + sizeof prefix - 1;
    *mode = (struct coherence_mode){.on = strcmp(text, "off") != 0};
    if (!mode->on || strcmp(text, "strict") == 0) {
        return true;
    }
    if (strncmp(text, prefix, sizeof prefix - 1) != 0 || *digits < '0' || *digits > '9') {
        return false;
    }
    char *end;
    unsigned long long seed = strtoull(digits, &end, 10);
    mode->evict = true;
    mode->seed = (uint32_t)seed;
    return *end == '\0' && seed <= UINT32_MAX;
}

/* ---- ranges ---- */

static uint64_t line_count(const struct coherence_range *range)
{
    return (range->size + COHERENCE_LINE - 1) / COHERENCE_LINE;
}

bool coherence_add(struct coherence *c, const struct coherence_range *range,
                   enum coherence_start start)
{
    if (c->range_count == COHERENCE_RANGE_MAX) {
        return false;
    }
    if (start == COHERENCE_UNKNOWN) {
        memset(range->state, COHERENCE_LINE_UNKNOWN, (size_t)line_count(range));
    }
    c->ranges[c->range_count++] = *range;
    return true;
}

static const struct coherence_range *range_at(const struct coherence *c, uint64_t base)
{
    size_t i = 0;
    while (i < c->range_count && c->ranges[i].base != base) {
        i++;
    }
    return i < c->range_count ? &c->ranges[i] : NULL;
}

void coherence_remove(struct coherence *c, uint64_t base)
{
    const struct coherence_range *range = range_at(c, base);
    for (size_t i = 0; i < c->queued; i++) {
        c->queue[i].count *= c->queue[i].base != base;
    }
    if (range != NULL) {
        c->ranges[range - c->ranges] = c->ranges[--c->range_count];
    }
}

void coherence_remove_all(struct coherence *c)
{
    c->range_count = 0;
    c->queued = 0;
}

const struct coherence_range *coherence_find(const struct coherence *c, uint64_t address,
                                             uint64_t length)
{
    for (size_t i = 0; i < c->range_count; i++) {
        const struct coherence_range *range = &c->ranges[i];
        uint64_t offset = address - range->base;
        if (offset < range->size && length <= range->size - offset) {
            return range;
        }
    }
    return NULL;
}

/** The lines of a range that [address, address + size) touches. */
static struct lines lines_of(const struct coherence_range *range, uint64_t address, uint64_t size)
{
    uint64_t start = address > range->base ? address - range->base : 0;
    uint64_t before = address < range->base ? range->base - address : 0;
    if (size <= before || start >= range->size) {
        return (struct lines){0, 0};
    }
    uint64_t left = range->size - start;
    uint64_t length = size - before < left ? size - before : left;
    uint64_t first = start / COHERENCE_LINE;
    return (struct lines){first, (start + length - 1) / COHERENCE_LINE - first + 1};
}

/** The next lines in use from *offset on; moves *offset past them. */
static bool next_lines(const struct coherence_range *range, uint64_t *offset, struct lines *lines)
{
    uint64_t size = range->size - *offset;
    if (*offset >= range->size || (range->next != NULL && !range->next(range, offset, &size))) {
        return false;
    }
    *lines = lines_of(range, range->base + *offset, size);
    *offset += size;
    return true;
}

static void visit(const struct coherence_range *range,
                  void (*line)(const struct coherence_range *range, uint64_t line))
{
    struct lines lines;
    for (uint64_t offset = 0; next_lines(range, &offset, &lines);) {
        for (uint64_t i = 0; i < lines.count; i++) {
            line(range, lines.first + i);
        }
    }
}

/* ---- maintenance ---- */

static void commit(const struct coherence_range *range, const struct coherence_pending *entry)
{
    for (uint64_t i = entry->first; i < entry->first + entry->count; i++) {
        if (range->attribute == COHERENCE_WRITE_THROUGH) {
            coherence_line_drain(range, i);
        }
        if (entry->operation & COHERENCE_CLEAN) {
            coherence_line_commit(range, i);
        }
        if (entry->operation & COHERENCE_INVALIDATE) {
            coherence_line_fetch(range, i);
        }
    }
}

void coherence_commit_first(struct coherence *c)
{
    struct coherence_pending entry = c->queue[0];
    const struct coherence_range *range = range_at(c, entry.base);
    memmove(&c->queue[0], &c->queue[1], --c->queued * sizeof c->queue[0]);
    if (range != NULL) {
        commit(range, &entry);
    }
}

static void commit_all(struct coherence *c)
{
    while (c->queued > 0) {
        coherence_commit_first(c);
    }
}

/** Is an invalidate of any of these lines queued? */
static bool invalidate_is_queued(const struct coherence *c, const struct coherence_range *range,
                                 struct lines lines)
{
    for (size_t i = 0; i < c->queued; i++) {
        const struct coherence_pending *entry = &c->queue[i];
        if (entry->operation & COHERENCE_INVALIDATE && entry->base == range->base &&
            entry->first < lines.first + lines.count && lines.first < entry->first + entry->count) {
            return true;
        }
    }
    return false;
}

/** Queue an operation; merge it with the last entry if it continues that. */
static void enqueue(struct coherence *c, const struct coherence_pending *entry)
{
    struct coherence_pending *last = c->queued > 0 ? &c->queue[c->queued - 1] : NULL;
    if (last != NULL && last->base == entry->base && last->operation == entry->operation &&
        last->first + last->count == entry->first) {
        last->count += entry->count;
        return;
    }
    if (c->queued == COHERENCE_QUEUE_MAX) {
        coherence_commit_first(c); // a full queue does not wait
    }
    c->queue[c->queued++] = *entry;
}

static void maintain(struct coherence *c, const struct coherence_range *range,
                     enum coherence_operation operation, struct lines lines)
{
    if (lines.count == 0 || range->attribute == COHERENCE_UNCACHED) {
        return;
    }
    if (operation & COHERENCE_CLEAN) {
        if (invalidate_is_queued(c, range, lines)) {
            commit_all(c); // operations on one line keep their order
        }
        for (uint64_t i = 0; i < lines.count && range->attribute == COHERENCE_WRITE_BACK; i++) {
            coherence_line_clean(range, lines.first + i);
        }
    }
    enqueue(c, &(struct coherence_pending){range->base, operation, lines.first, lines.count});
}

void coherence_maintain(struct coherence *c, enum coherence_operation operation, uint64_t address,
                        uint64_t size)
{
    for (size_t i = 0; i < c->range_count; i++) {
        const struct coherence_range *range = &c->ranges[i];
        maintain(c, range, operation, lines_of(range, address, size));
    }
}

void coherence_maintain_all(struct coherence *c, enum coherence_operation operation)
{
    for (size_t i = 0; i < c->range_count; i++) {
        const struct coherence_range *range = &c->ranges[i];
        struct lines lines;
        for (uint64_t offset = 0; next_lines(range, &offset, &lines);) {
            maintain(c, range, operation, lines);
        }
    }
}

void coherence_barrier(struct coherence *c)
{
    commit_all(c);
    for (size_t i = 0; i < c->range_count; i++) {
        if (c->ranges[i].attribute != COHERENCE_WRITE_BACK) {
            visit(&c->ranges[i], coherence_line_drain);
        }
    }
}

static void adopt(const struct coherence_range *range, uint64_t line)
{
    range->state[line] = COHERENCE_LINE_UNKNOWN;
    coherence_line_write_back(range, line);
}

void coherence_adopt(struct coherence *c)
{
    c->queued = 0;
    for (size_t i = 0; i < c->range_count; i++) {
        visit(&c->ranges[i], adopt);
    }
}

/* ---- bus masters ---- */

uint8_t *coherence_memory(const struct coherence *c, uint64_t address, uint64_t length)
{
    const struct coherence_range *range = coherence_find(c, address, length);
    return range == NULL ? NULL : range->memory + (address - range->base);
}

bool coherence_equal(const struct coherence *c, uint64_t address, uint64_t size)
{
    const struct coherence_range *range = coherence_find(c, address, size);
    uint64_t offset = range == NULL ? 0 : address - range->base;
    return range == NULL || memcmp(range->cpu + offset, range->memory + offset, (size_t)size) == 0;
}
