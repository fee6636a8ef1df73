// SPDX-License-Identifier: MIT
/** Regions of the machine's memory. */
#include "base/region.h"

#include <stdlib.h>

#include "base/message.h"

MemoryRegion *region_new(void)
{
    MemoryRegion *region = calloc(1, MEMORY_REGION_ROOM);
    if (!region) {
        fatal("no memory for a region of the machine");
    }
    return region;
}

MemoryRegion *region_create_ram(const char *name, uint32_t base, uint32_t size, int priority)
{
    MemoryRegion *region = region_new();
    memory_region_init_ram(region, NULL, name, size, NULL);
    memory_region_add_subregion_overlap(get_system_memory(), base, region, priority);
    return region;
}
