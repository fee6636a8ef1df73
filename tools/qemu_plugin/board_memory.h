// SPDX-License-Identifier: MIT
/** Memories of the board that QEMU's machine lacks. */
#ifndef BOARD_MEMORY_H
#define BOARD_MEMORY_H

#include <stdint.h>

#include "board.h"
#include "qemu_api.h"

/** Allocate a region of the machine; never freed. */
MemoryRegion *board_memory_new_region(void);

/** Create RAM at an address. */
MemoryRegion *board_memory_create_ram(const char *name, uint32_t base, uint32_t size, int priority);

/** Create a memory of the board's table and its alias; `priority` is above QEMU's regions there. */
void board_memory_create(const struct board_memory *memory, int priority);

#endif
