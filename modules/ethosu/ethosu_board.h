// SPDX-License-Identifier: MIT
/**
 * What a board supplies, and nothing else: where its NPUs are, which memories
 * they see, and how their interrupts are connected.
 *
 * Everything here is an ordinary const object or function: a board that
 * forgets one fails to link, a board that still has an old shape fails to
 * compile. The weak hooks (copy, cache, address remap) are in the driver's
 * headers; a board overrides those it needs.
 */
#ifndef ETHOSU_BOARD_H
#define ETHOSU_BOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** One NPU of the board. */
struct ethosu_board_npu {
    uintptr_t base;          /**< address of the register window */
    void *fast_memory;       /**< spilling memory of Dedicated_Sram systems, or NULL */
    size_t fast_memory_size; /**< bytes */
    bool secure;             /**< run the NPU in secure state */
    bool privileged;         /**< run the NPU privileged */
};

/** A range of CPU addresses that every NPU of the board can reach. */
struct ethosu_board_range {
    uintptr_t start;
    size_t size; /**< bytes */
    bool writable;
    const char *name; /**< for messages: "SRAM", "DDR" */
};

struct ethosu_board {
    const char *name;
    const struct ethosu_board_npu *npus;
    size_t npu_count;
    const struct ethosu_board_range *ranges;
    size_t range_count;
};

extern const struct ethosu_board ethosu_board;

/**
 * Is the NPU at this index there? Looked at once, before its registers are
 * read: a board whose image also runs where the NPU is missing says so here.
 */
bool ethosu_board_npu_present(size_t index);

/** Route the interrupt of NPU `index` to `handler(argument)` and enable it. */
void ethosu_board_irq_connect(size_t index, void (*handler)(void *argument), void *argument);

/** Disable the interrupt of NPU `index`. */
void ethosu_board_irq_disconnect(size_t index);

#endif
