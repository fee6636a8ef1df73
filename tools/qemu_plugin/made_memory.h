// SPDX-License-Identifier: MIT
/** Memories that the board has and QEMU's machine lacks. */
#ifndef MADE_MEMORY_H
#define MADE_MEMORY_H

#include <stdint.h>

#include "board.h"
#include "qemu_api.h"

/** Room for a region of the machine, which keeps it until the end. */
MemoryRegion *made_region(void);

/** RAM at an address. */
MemoryRegion *made_ram(const char *name, uint32_t base, uint32_t size, int priority);

/** A row of the board's table, with its alias; `priority` is over what QEMU has there. */
void made_memory(const struct board_memory *memory, int priority);

#endif
