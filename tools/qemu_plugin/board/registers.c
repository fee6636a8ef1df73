// SPDX-License-Identifier: MIT
/** See registers.h. */
#include "board/registers.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "base/message.h"
#include "base/qemu_api.h"
#include "base/region.h"

/** A device with this register in its window has a higher one, and stores by itself. */
#define PRIORITY_OF_WATCHED (REGISTERS_PRIORITY + 1)

static uint8_t *remembered[BOARD_REGISTERS_MAX];
/** Powers of memories, and the flash's controller. */
static void (*listeners[2])(void);

static void note_change(void)
{
    for (size_t i = 0; i < sizeof listeners / sizeof listeners[0] && listeners[i]; i++) {
        listeners[i]();
    }
}

void registers_on_change(void (*changed)(void))
{
    size_t i = 0;
    while (listeners[i]) {
        i++;
    }
    listeners[i] = changed;
}

/** Most are 0 after a reset. Most of their pages are untouched, so the memory is released. */
static void forget_registers(void *opaque)
{
    const struct board_chip *chip = opaque;
    for (size_t i = 0; i < chip->registers_count; i++) {
        if (madvise(remembered[i], chip->registers[i].size, MADV_DONTNEED) != 0) {
            memset(remembered[i], 0, chip->registers[i].size);
        }
    }
    for (size_t i = 0; i < chip->after_reset_count; i++) {
        registers_store(chip->after_reset[i].address, chip->after_reset[i].value);
    }
    note_change();
}

void registers_create(const struct board_chip *chip)
{
    for (size_t i = 0; i < chip->registers_count; i++) {
        const struct board_registers *row = &chip->registers[i];
        remembered[i] = memory_region_get_ram_ptr(
            region_create_ram(row->name, row->base, row->size, REGISTERS_PRIORITY));
    }
    // Registered before the devices, some of whose registers are not 0 after a reset.
    qemu_register_reset(forget_registers, (void *)chip);
}

/** Memory of a register, or NULL. */
static uint8_t *memory_of(uint32_t address)
{
    const struct board_chip *chip = board()->chip;
    for (size_t i = 0; chip && i < chip->registers_count; i++) {
        const struct board_registers *row = &chip->registers[i];
        if (address >= row->base && address - row->base < row->size) {
            return remembered[i] + (address - row->base);
        }
    }
    return NULL;
}

uint32_t registers_load(uint32_t address)
{
    uint32_t value = 0;
    const uint8_t *memory = memory_of(address);
    if (memory) {
        memcpy(&value, memory, sizeof value);
    }
    return value;
}

void registers_store(uint32_t address, uint32_t value)
{
    uint8_t *memory = memory_of(address);
    if (memory) {
        memcpy(memory, &value, sizeof value);
    }
    note_change();
}

static uint64_t watched_read(void *opaque, uint64_t offset, unsigned size)
{
    (void)offset;
    (void)size;
    return registers_load((uint32_t)(uintptr_t)opaque);
}

static void watched_write(void *opaque, uint64_t offset, uint64_t value, unsigned size)
{
    (void)offset;
    (void)size;
    registers_store((uint32_t)(uintptr_t)opaque, (uint32_t)value);
}

void registers_watch(uint32_t address)
{
    static const MemoryRegionOps ops = {
        .read = watched_read,
        .write = watched_write,
        .endianness = DEVICE_LITTLE_ENDIAN,
        .valid = {.min_access_size = 4, .max_access_size = 4},
        .impl = {.min_access_size = 4, .max_access_size = 4},
    };
    if (memory_of(address)) {
        MemoryRegion *region = region_new();
        memory_region_init_io(region, NULL, &ops, (void *)(uintptr_t)address, "watched", 4);
        memory_region_add_subregion_overlap(get_system_memory(), address, region,
                                            PRIORITY_OF_WATCHED);
    }
}
