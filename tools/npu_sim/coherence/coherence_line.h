// SPDX-License-Identifier: MIT
/** Operations on one cache line, used by coherence.c and coherence_evict.c. */
#ifndef COHERENCE_LINE_H
#define COHERENCE_LINE_H

#include "coherence.h"

/** Bits of a line's state. */
enum {
    COHERENCE_LINE_UNKNOWN = 1, /**< dirty, regardless of the bytes */
    COHERENCE_LINE_QUEUED = 2,  /**< cleaned: the snapshot goes to memory at a barrier */
};

/** Would a write-back cache write this line back? */
bool coherence_line_dirty(const struct coherence_range *range, uint64_t line);

/** Clean: the CPU's stores are in transit to memory. */
void coherence_line_clean(const struct coherence_range *range, uint64_t line);

/** Data in transit reaches memory. */
void coherence_line_commit(const struct coherence_range *range, uint64_t line);

/** Replace the CPU's copy by memory's. */
void coherence_line_fetch(const struct coherence_range *range, uint64_t line);

/** Eviction: if dirty, write all bytes of the line to memory at once. */
void coherence_line_write_back(const struct coherence_range *range, uint64_t line);

/** Let stores to write-through and uncached memory arrive byte by byte; uncached: loads, too. */
void coherence_line_drain(const struct coherence_range *range, uint64_t line);

/** The range that contains all of [address, address + length), or NULL. */
const struct coherence_range *coherence_find(const struct coherence *c, uint64_t address,
                                             uint64_t length);

/** Complete the oldest queue entry. */
void coherence_commit_first(struct coherence *c);

#endif
