// SPDX-License-Identifier: MIT
/** Memories of another size than the board's table has, as models of a board can be configured. */
#ifndef MEMORY_SIZE_H
#define MEMORY_SIZE_H

#include "board.h"

struct memory_size {
    const struct board_memory *row; /**< NULL ends the list */
    uint32_t kib;
};

/**
 * Replace these memories. What is behind a smaller one is unmapped, at the alias, too. Ends QEMU
 * with an error message if a larger one would reach the next memory.
 *
 * The new memory has no protection controller (MPC) in front of it.
 */
void memory_size_apply(const struct memory_size *sizes);

/** QEMU's name for the replacement of a memory, or NULL if it is as the table says. */
const char *memory_size_block(const struct board_memory *row);

#endif
