// SPDX-License-Identifier: MIT
/** Memories of the board that QEMU's machine lacks. */
#ifndef BOARD_MEMORY_H
#define BOARD_MEMORY_H

#include <stdint.h>

#include "base/qemu_api.h"
#include "board/board.h"

/** Initialise `region` as a memory of this kind. */
#define MEMORY(kind, keys, access, init) \
    void init##_init(MemoryRegion *region, const struct board_memory *memory);
#include "board/devices.def"

/** Create a memory of the board's table and its alias; `priority` is above QEMU's regions there. */
void board_memory_create(const struct board_memory *memory, int priority);

/** Another size than the board's table has, as models of a board can be configured. */
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
void board_memory_resize(const struct memory_size *sizes);

/** QEMU's name for the replacement of a memory, or NULL if it is as the table says. */
const char *board_memory_block(const struct board_memory *row);

#endif
