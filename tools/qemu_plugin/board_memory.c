// SPDX-License-Identifier: MIT
/** Memories of the board that QEMU's machine lacks. */
#include "board_memory.h"

#include <stdlib.h>

#include "message.h"
#include "mram.h"

MemoryRegion *board_memory_new_region(void)
{
    MemoryRegion *region = calloc(1, MEMORY_REGION_ROOM);
    if (!region) {
        fatal("no memory for a region of the machine");
    }
    return region;
}

MemoryRegion *board_memory_create_ram(const char *name, uint32_t base, uint32_t size, int priority)
{
    MemoryRegion *region = board_memory_new_region();
    memory_region_init_ram(region, NULL, name, size, NULL);
    memory_region_add_subregion_overlap(get_system_memory(), base, region, priority);
    return region;
}

static MemoryRegion *create_mram(const struct board_memory *memory, int priority)
{
    MemoryRegion *region = board_memory_new_region();
    mram_init(region, memory);
    memory_region_add_subregion_overlap(get_system_memory(), memory->base, region, priority);
    return region;
}

void board_memory_create(const struct board_memory *memory, int priority)
{
    MemoryRegion *region =
        memory->access & BOARD_TAKES_LINES
            ? create_mram(memory, priority)
            : board_memory_create_ram(memory->blocks[0], memory->base, memory->size, priority);
    memory_region_set_readonly(region, !(memory->access & BOARD_CPU_WRITES));
    if (memory->alias) {
        MemoryRegion *alias = board_memory_new_region();
        memory_region_init_alias(alias, NULL, memory->blocks[0], region, 0, memory->size);
        memory_region_add_subregion_overlap(get_system_memory(), memory->alias, alias, priority);
    }
}
