// SPDX-License-Identifier: MIT
/**
 * MRAM that accepts only whole lines of 16 bytes; any other store is lost and reported.
 *
 * The first revision of the silicon (BOARD_NO_FETCH) also loses a line if the CPU executes code
 * from this memory between the line's first and last store.
 */
#ifndef MRAM_H
#define MRAM_H

#include "board/board.h"
#include "base/qemu_api.h"

/** Initialise `region` as the board's memory. */
void mram_init(MemoryRegion *region, const struct board_memory *memory);

/** Take note of the execution of a new translation block, if it is in such a memory. */
void mram_watch(struct qemu_plugin_tb *tb);

#endif
