// SPDX-License-Identifier: MIT
/** Memories of the board that QEMU's machine lacks. */
#ifndef MADE_MEMORY_H
#define MADE_MEMORY_H

#include <stdint.h>

#include "board.h"
#include "qemu_api.h"

/** Allocate a region of the machine; never freed. */
MemoryRegion *made_region(void);

/** Create RAM at an address. */
MemoryRegion *made_ram(const char *name, uint32_t base, uint32_t size, int priority);

/** Create a memory of the board's table and its alias; `priority` is above QEMU's regions there. */
void made_memory(const struct board_memory *memory, int priority);

#endif
