// SPDX-License-Identifier: MIT
/**
 * The command stream mutator, for libFuzzer and for the campaigns of host_tests. It keeps words and
 * commands intact; random bytes nearly always end as unknown commands.
 */
#ifndef MUTATE_STREAM_H
#define MUTATE_STREAM_H

#include <stdint.h>

#define STREAM_REGIONS 8u

enum { STREAM_U55, STREAM_U65, STREAM_U85, STREAM_FAMILIES };

struct stream {
    uint32_t family; /**< of the NPU; selects the commands to insert */
    uint32_t *words;
    uint32_t count, most; /**< words, and their maximum */
    uint32_t regions;     /**< number of regions whose size may change; 0 to keep all sizes */
    uint32_t *sizes;      /**< STREAM_REGIONS sizes, used for boundary values */
    const uint32_t *most_sizes;
};

/** Family of an NPU, by a name such as "ethos-u55-128". */
uint32_t stream_family(const char *npu);

/** A random number below `below`, from the sequence started by draw_from(). */
uint32_t draw(uint32_t below);
void draw_from(uint64_t seed);

/**
 * A boundary value of the old value, of a bit width or of one of the STREAM_REGIONS region sizes
 * (may be NULL); or any value.
 */
uint32_t draw_boundary(uint32_t old, const uint32_t *sizes);

/**
 * One change: set a register to a boundary value; insert, remove, move or repeat a command; resize
 * a region; or change bits of a word.
 */
void stream_mutate(struct stream *stream);

#endif
