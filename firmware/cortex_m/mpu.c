// SPDX-License-Identifier: MIT
/**
 * The memory protection unit (MPU). The background map is off, so a null pointer
 * and any address not in the board's table fault.
 */
#include "mpu.h"

#include <stdio.h>

#include "cpu.h"

/** Granularity of region bounds (Armv8-M Architecture Reference Manual, MPU_RBAR). */
#define GRANULE 32u

/** Memory attributes by enum ethosu_cache, and one more for registers. */
enum { DEVICE = ETHOSU_CACHE_NONE + 1 };

/** MPU settings for each enum ethosu_cpu_access. */
static const struct {
    bool read_only;
    bool execute_never;
} settings[] = {
    [ETHOSU_CPU_DATA] = {false, true},
    [ETHOSU_CPU_CODE] = {true, false},
    [ETHOSU_CPU_ALL] = {false, false},
    [ETHOSU_CPU_REGISTERS] = {false, true},
};

/** The same attribute for the inner and the outer cache. */
static void set_attribute(uint8_t index, uint8_t attribute)
{
    ARM_MPU_SetMemAttr(index, ARM_MPU_ATTR(attribute, attribute));
}

static void set_region(uint32_t number, const struct ethosu_memory *memory, bool writable)
{
    uint32_t start = (uint32_t)(uintptr_t)memory->start;
    uint32_t last = (uint32_t)(uintptr_t)memory->end - 1u;
    uint32_t attribute = memory->cpu == ETHOSU_CPU_REGISTERS ? DEVICE : memory->cache;
    ARM_MPU_SetRegion(
        number,
        ARM_MPU_RBAR(start, ARM_MPU_SH_NON, !writable, 0u, settings[memory->cpu].execute_never),
        ARM_MPU_RLAR(last, attribute));
}

static bool is_range(const struct ethosu_memory *memory)
{
    uintptr_t start = (uintptr_t)memory->start;
    uintptr_t end = (uintptr_t)memory->end;
    return start < end && start % GRANULE == 0 && end % GRANULE == 0;
}

/** The first earlier memory that shares addresses with this one, or NULL. */
static const struct ethosu_memory *overlapping(const struct ethosu_board *board, size_t index)
{
    const struct ethosu_memory *memory = &board->memories[index];
    for (size_t i = 0; i < index; i++) {
        const struct ethosu_memory *other = &board->memories[i];
        if (memory->start < other->end && other->start < memory->end) {
            return other;
        }
    }
    return NULL;
}

static uint32_t region_count(void)
{
    return (MPU->TYPE & MPU_TYPE_DREGION_Msk) >> MPU_TYPE_DREGION_Pos;
}

/** Check the MPU's limits: the number of regions, and no overlap, as that would fault. */
static const char *refuse(const struct ethosu_board *board)
{
    static char message[112];
    uint32_t regions = region_count();
    if (board->memory_count > regions) {
        snprintf(message, sizeof message, "the board has %u memories, the MPU has %u regions",
                 (unsigned)board->memory_count, (unsigned)regions);
        return message;
    }
    for (size_t i = 0; i < board->memory_count; i++) {
        const struct ethosu_memory *memory = &board->memories[i];
        if (!is_range(memory)) {
            snprintf(message, sizeof message,
                     "memory %.20s goes from 0x%08x to 0x%08x, expected multiples of %u",
                     memory->name, (unsigned)(uintptr_t)memory->start,
                     (unsigned)(uintptr_t)memory->end, GRANULE);
            return message;
        }
        const struct ethosu_memory *other = overlapping(board, i);
        if (other != NULL) {
            snprintf(message, sizeof message, "memories %.20s and %.20s overlap", other->name,
                     memory->name);
            return message;
        }
    }
    return NULL;
}

const char *mpu_enable(const struct ethosu_board *board)
{
    ARM_MPU_Disable();
    const char *reason = refuse(board);
    if (reason != NULL) {
        return reason;
    }
    set_attribute(ETHOSU_CACHE_WRITE_BACK, ARM_MPU_ATTR_MEMORY_(1, 1, 1, 1));
    set_attribute(ETHOSU_CACHE_WRITE_THROUGH, ARM_MPU_ATTR_MEMORY_(1, 0, 1, 0));
    set_attribute(ETHOSU_CACHE_NONE, ARM_MPU_ATTR_NON_CACHEABLE);
    ARM_MPU_SetMemAttr(DEVICE, ARM_MPU_ATTR(ARM_MPU_ATTR_DEVICE, ARM_MPU_ATTR_DEVICE_nGnRE));
    for (uint32_t i = 0; i < board->memory_count; i++) {
        const struct ethosu_memory *memory = &board->memories[i];
        set_region(i, memory, !settings[memory->cpu].read_only);
    }
    for (uint32_t i = (uint32_t)board->memory_count; i < region_count(); i++) {
        ARM_MPU_ClrRegion(i); // a bootloader may have used it
    }
    // HFNMIENA stays clear: the MPU is off during fault reports, so they can read anything.
    ARM_MPU_Enable(0);
    return NULL;
}

/** Set up the region of the memory at this address again, with another use by the CPU. */
static void change_region(const void *address, bool writable, bool registers)
{
    for (uint32_t i = 0; i < ethosu_board.memory_count; i++) {
        struct ethosu_memory memory = ethosu_board.memories[i];
        if (address >= memory.start && address < memory.end) {
            memory.cpu = registers ? ETHOSU_CPU_REGISTERS : memory.cpu;
            set_region(i, &memory, writable || !settings[memory.cpu].read_only);
        }
    }
    __DSB();
    __ISB();
}

void mpu_set_writable(const void *address, bool writable)
{
    change_region(address, writable, false);
}

void mpu_set_registers(const void *address, bool registers)
{
    change_region(address, registers, registers);
}
