// SPDX-License-Identifier: MIT
/**
 * The memory protection unit. There is no background map: a null pointer, and
 * any address that the board does not name, faults.
 */
#include "mpu.h"

#include "cpu.h"

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

static void set_region(uint32_t number, const struct ethosu_memory *memory)
{
    uint32_t start = (uint32_t)memory->start;
    uint32_t last = (uint32_t)memory->end - 1u;
    uint32_t attribute = memory->cpu == ETHOSU_CPU_REGISTERS ? DEVICE : memory->cache;
    ARM_MPU_SetRegion(number,
                      ARM_MPU_RBAR(start, ARM_MPU_SH_NON, settings[memory->cpu].read_only, 0u,
                                   settings[memory->cpu].execute_never),
                      ARM_MPU_RLAR(last, attribute));
}

bool mpu_enable(const struct ethosu_board *board)
{
    uint32_t regions = (MPU->TYPE & MPU_TYPE_DREGION_Msk) >> MPU_TYPE_DREGION_Pos;
    if (board->memory_count > regions) {
        return false;
    }
    ARM_MPU_Disable();
    set_attribute(ETHOSU_CACHE_WRITE_BACK, ARM_MPU_ATTR_MEMORY_(1, 1, 1, 1));
    set_attribute(ETHOSU_CACHE_WRITE_THROUGH, ARM_MPU_ATTR_MEMORY_(1, 0, 1, 0));
    set_attribute(ETHOSU_CACHE_NONE, ARM_MPU_ATTR_NON_CACHEABLE);
    ARM_MPU_SetMemAttr(DEVICE, ARM_MPU_ATTR(ARM_MPU_ATTR_DEVICE, ARM_MPU_ATTR_DEVICE_nGnRE));
    for (uint32_t i = 0; i < board->memory_count; i++) {
        set_region(i, &board->memories[i]);
    }
    // Faults keep the MPU off (HFNMIENA), so that their report can read anything.
    ARM_MPU_Enable(0);
    return true;
}
