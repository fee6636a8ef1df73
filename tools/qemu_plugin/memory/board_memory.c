// SPDX-License-Identifier: MIT
/** Memories of the board that QEMU's machine lacks. */
#include "memory/board_memory.h"

#include <stdio.h>

#include "base/message.h"
#include "base/region.h"
#include "board/machine.h"

void ram_init(MemoryRegion *region, const struct board_memory *memory)
{
    memory_region_init_ram(region, NULL, memory->blocks[0], memory->size, NULL);
}

static void (*const kinds[])(MemoryRegion *region, const struct board_memory *memory) = {
#define MEMORY(kind, keys, access, init) [BOARD_MEMORY_##kind] = init##_init,
#include "board/devices.def"
};

void board_memory_create(const struct board_memory *memory, int priority)
{
    MemoryRegion *region = region_new();
    kinds[memory->kind](region, memory);
    memory_region_add_subregion_overlap(get_system_memory(), memory->base, region, priority);
    memory_region_set_readonly(region, !(memory->access & BOARD_CPU_WRITES));
    if (memory->alias) {
        MemoryRegion *alias = region_new();
        memory_region_init_alias(alias, NULL, memory->blocks[0], region, 0, memory->size);
        memory_region_add_subregion_overlap(get_system_memory(), memory->alias, alias, priority);
    }
}

/* --- Other sizes ----------------------------------------------------------------- */

/** Of replacements. */
static char names[BOARD_MEMORIES_MAX][32];

static uint64_t size_of_block(const char *name)
{
    RAMBlock *block = name ? qemu_ram_block_by_name(name) : NULL;
    return block ? qemu_ram_get_used_length(block) : 0;
}

/** Bytes up to the next memory, for which nothing else is in between. */
static uint64_t room_for(const struct board_memory *row)
{
    uint64_t end = UINT64_C(1) << 32;
    for (size_t i = 0; i < board()->memory_count; i++) {
        const uint32_t starts[] = {board()->memories[i].base, board()->memories[i].alias};
        for (size_t j = 0; j < 2; j++) {
            end = starts[j] > row->base && starts[j] < end ? starts[j] : end;
        }
    }
    return end - row->base;
}

static void replace(const struct board_memory *row, uint32_t bytes)
{
    MemoryRegion *buses = (MemoryRegion *)machine_buses();
    uint64_t before = size_of_block(row->blocks[0]) + size_of_block(row->blocks[1]);
    const uint32_t places[] = {row->base, row->alias};
    if (bytes > room_for(row)) {
        fatal("size=%s:%u: expected at most %llu KiB, where the next memory begins", row->name,
              bytes / 1024, (unsigned long long)room_for(row) / 1024);
    }
    char *name = names[row - board()->memories];
    snprintf(name, sizeof names[0], "ethosu-%s", row->name);
    MemoryRegion *memory = region_new();
    memory_region_init_ram(memory, NULL, name, bytes, NULL);
    memory_region_set_readonly(memory, !(row->access & BOARD_CPU_WRITES));
    memory_region_add_subregion_overlap(buses, row->base, memory, MACHINE_OVER_DEVICES);
    if (row->alias) {
        MemoryRegion *alias = region_new();
        memory_region_init_alias(alias, NULL, name, memory, 0, bytes);
        memory_region_add_subregion_overlap(buses, row->alias, alias, MACHINE_OVER_DEVICES);
    }
    for (size_t i = 0; i < 2 && bytes < before; i++) {
        if (i == 0 || places[i]) {
            machine_map_hole(MACHINE_ABSENT, buses, row->name, places[i] + bytes, before - bytes);
        }
    }
}

void board_memory_resize(const struct memory_size *sizes)
{
    for (; sizes->row; sizes++) {
        replace(sizes->row, sizes->kib * 1024);
    }
}

const char *board_memory_block(const struct board_memory *row)
{
    const char *name = names[row - board()->memories];
    return name[0] ? name : NULL;
}
