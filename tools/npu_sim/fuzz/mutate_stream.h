// SPDX-License-Identifier: MIT
/**
 * The mutator of command streams, for libFuzzer and for the campaigns of host_tests. It keeps words
 * whole and commands known; random bytes nearly always end as unknown commands.
 */
#ifndef MUTATE_STREAM_H
#define MUTATE_STREAM_H

#include <stdint.h>

#define STREAM_REGIONS 8u

enum { STREAM_U55, STREAM_U65, STREAM_U85, STREAM_FAMILIES };

struct stream {
    uint32_t family; /**< of the NPU, whose commands are inserted */
    uint32_t *words;
    uint32_t count, most; /**< words, and the most there may be */
    uint32_t regions;     /**< number of regions whose size may change; 0: no size changes */
    uint32_t *sizes;      /**< STREAM_REGIONS sizes, which give boundary values */
    const uint32_t *most_sizes;
};

/** The family of an NPU, by its name, such as "ethos-u55-128". */
uint32_t stream_family(const char *npu);

/** A number below `below`, from the sequence that draw_from() begins. */
uint32_t draw(uint32_t below);
void draw_from(uint64_t seed);

/**
 * A value at a boundary: of the old value, of a number of bits, of one of the sizes of
 * STREAM_REGIONS regions (NULL: there are none); or any value.
 */
uint32_t draw_boundary(uint32_t old, const uint32_t *sizes);

/**
 * One change: a register gets a boundary value, a command of any kind that the NPU has is inserted,
 * removed, moved or repeated, a region gets another size, or a word other bits.
 */
void stream_mutate(struct stream *stream);

#endif
