// SPDX-License-Identifier: MIT
/** See core_power.h. */
#include "core_power.h"

#include <stddef.h>

#include "machine.h"

#define CPDLPSTATE 0xE001E300u
/** OFF for each: ELPSTATE in Arm's system_ARMCM55.c, the others in pm.c of Alif's DFP. */
#define AFTER_RESET 0x333u

static uint32_t state;

static uint32_t power_read(void *opaque, uint64_t offset, uint64_t *value, unsigned size,
                           MemTxAttrs attributes)
{
    (void)opaque;
    (void)offset;
    (void)size;
    (void)attributes;
    *value = state;
    return 0;
}

static uint32_t power_write(void *opaque, uint64_t offset, uint64_t value, unsigned size,
                            MemTxAttrs attributes)
{
    (void)opaque;
    (void)offset;
    (void)size;
    (void)attributes;
    state = (uint32_t)value & AFTER_RESET;
    return 0;
}

static void reset(void *opaque)
{
    (void)opaque;
    state = AFTER_RESET;
}

void core_power_create(void)
{
    static const MemoryRegionOps ops = {
        .read_with_attrs = power_read,
        .write_with_attrs = power_write,
        .endianness = DEVICE_LITTLE_ENDIAN,
        .valid = {.min_access_size = 4, .max_access_size = 4},
        .impl = {.min_access_size = 4, .max_access_size = 4},
    };
    static _Alignas(max_align_t) unsigned char room[MEMORY_REGION_ROOM];
    MemoryRegion *region = (MemoryRegion *)room;
    memory_region_init_io(region, NULL, &ops, NULL, "cpdlpstate", 4);
    memory_region_add_subregion_overlap(machine_cpu_view(), CPDLPSTATE, region,
                                        MACHINE_OVER_DEVICES);
    qemu_register_reset(reset, NULL);
}
