// SPDX-License-Identifier: MIT
/** One cache line: what coherence.c and coherence_evict.c do to it. */
#ifndef COHERENCE_LINE_H
#define COHERENCE_LINE_H

#include "coherence.h"

/** Bits of a line's state. */
enum {
    COHERENCE_LINE_UNKNOWN = 1, /**< dirty, whatever the bytes say */
    COHERENCE_LINE_QUEUED = 2,  /**< cleaned: the snapshot goes to memory at a barrier */
};

/** Would a write-back cache write this line back? */
bool coherence_line_dirty(const struct coherence_range *range, uint64_t line);

/** Clean: what the CPU has written is on its way to memory. */
void coherence_line_clean(const struct coherence_range *range, uint64_t line);

/** What is on its way arrives. */
void coherence_line_arrive(const struct coherence_range *range, uint64_t line);

/** The CPU's copy becomes memory's. */
void coherence_line_fetch(const struct coherence_range *range, uint64_t line);

/** An eviction: if dirty, memory gets all bytes of the line at once. */
void coherence_line_write_back(const struct coherence_range *range, uint64_t line);

/** Stores to memory that keeps none of them back arrive, byte by byte; uncached: loads, too. */
void coherence_line_drain(const struct coherence_range *range, uint64_t line);

/** The range that holds [address, address + length) wholly, or NULL. */
const struct coherence_range *coherence_find(const struct coherence *c, uint64_t address,
                                             uint64_t length);

/** The oldest entry of the queue takes effect. */
void coherence_commit_first(struct coherence *c);

#endif
