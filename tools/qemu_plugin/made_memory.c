// SPDX-License-Identifier: MIT
/** Memories of the board that QEMU's machine lacks. */
#include "made_memory.h"

#include <stdlib.h>

#include "message.h"
#include "mram.h"

MemoryRegion *made_region(void)
{
    MemoryRegion *region = calloc(1, MEMORY_REGION_ROOM);
    if (!region) {
        fatal("no memory for a region of the machine");
    }
    return region;
}

MemoryRegion *made_ram(const char *name, uint32_t base, uint32_t size, int priority)
{
    MemoryRegion *region = made_region();
    memory_region_init_ram(region, NULL, name, size, NULL);
    memory_region_add_subregion_overlap(get_system_memory(), base, region, priority);
    return region;
}

static MemoryRegion *made_mram(const struct board_memory *memory, int priority)
{
    MemoryRegion *region = made_region();
    mram_init(region, memory->blocks[0], memory->base, memory->size);
    memory_region_add_subregion_overlap(get_system_memory(), memory->base, region, priority);
    return region;
}

void made_memory(const struct board_memory *memory, int priority)
{
    MemoryRegion *region = memory->access & BOARD_TAKES_LINES
                               ? made_mram(memory, priority)
                               : made_ram(memory->blocks[0], memory->base, memory->size, priority);
    memory_region_set_readonly(region, !(memory->access & BOARD_CPU_WRITES));
    if (memory->alias) {
        MemoryRegion *alias = made_region();
        memory_region_init_alias(alias, NULL, memory->blocks[0], region, 0, memory->size);
        memory_region_add_subregion_overlap(get_system_memory(), memory->alias, alias, priority);
    }
}
