// SPDX-License-Identifier: MIT
/**
 * The mutator of command streams, for libFuzzer and for the campaigns of host_tests. It keeps words
 * whole and commands known; random bytes nearly always end as unknown commands.
 */
#ifndef MUTATE_STREAM_H
#define MUTATE_STREAM_H

#include <stdint.h>

#define STREAM_REGIONS 8u

struct stream {
    const uint32_t *commands; /**< of the NPU: code in bits 15:0, mask of the parameter above */
    uint32_t command_count;
    uint32_t *words;
    uint32_t count, most; /**< words, and the most there may be */
    uint32_t regions;     /**< number of regions whose size may change; 0: no size changes */
    uint32_t *sizes;      /**< STREAM_REGIONS sizes, which give boundary values */
    const uint32_t *most_sizes;
};

/** A number below `below`, from the sequence that draw_from() begins. */
uint32_t draw(uint32_t below);
void draw_from(uint64_t seed);

/**
 * One change: a register gets a boundary value, a command of any kind that the NPU has is inserted,
 * removed, moved or repeated, a region gets another size, or a word other bits.
 */
void stream_mutate(struct stream *stream);

#endif
