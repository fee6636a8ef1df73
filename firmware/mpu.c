// SPDX-License-Identifier: MIT
/**
 * The memory protection unit. There is no background map: a null pointer, and
 * any address that the board does not name, faults.
 */
#include "mpu.h"

#include "cpu.h"

enum attribute { NORMAL, DEVICE };

/** MPU settings for each enum board_access. */
static const struct {
    bool read_only;
    bool execute_never;
    enum attribute attribute;
} settings[] = {
    [BOARD_CODE] = {true, false, NORMAL},
    [BOARD_DATA] = {false, true, NORMAL},
    [BOARD_HEAP] = {false, false, NORMAL},
    [BOARD_DEVICE] = {false, true, DEVICE},
};

void mpu_enable(const struct board_range *ranges, size_t count)
{
    ARM_MPU_Disable();
    ARM_MPU_SetMemAttr(
        NORMAL, ARM_MPU_ATTR(ARM_MPU_ATTR_MEMORY_(1, 1, 1, 1), ARM_MPU_ATTR_MEMORY_(1, 1, 1, 1)));
    ARM_MPU_SetMemAttr(DEVICE, ARM_MPU_ATTR(ARM_MPU_ATTR_DEVICE, ARM_MPU_ATTR_DEVICE_nGnRE));
    for (size_t i = 0; i < count; i++) {
        const struct board_range *range = &ranges[i];
        uint32_t start = (uint32_t)range->start;
        uint32_t last = (uint32_t)range->end - 1u;
        bool read_only = settings[range->access].read_only;
        bool execute_never = settings[range->access].execute_never;
        ARM_MPU_SetRegion((uint32_t)i,
                          ARM_MPU_RBAR(start, ARM_MPU_SH_NON, read_only, 0u, execute_never),
                          ARM_MPU_RLAR(last, (uint32_t)settings[range->access].attribute));
    }
    // Faults keep the MPU off (HFNMIENA), so that their report can read anything.
    ARM_MPU_Enable(0);
}
