// SPDX-License-Identifier: MIT
/**
 * mpu NUMBER [START END CACHE CPU]... [ADDRESS [REGISTERS]]: run firmware/cortex_m/mpu.c with an
 * MPU of NUMBER regions and a board with these memories, named m0, m1 and so on. At ADDRESS the CPU
 * may write even if the memory is read-only, or, with REGISTERS, accesses registers (1), or after
 * those the memory again (0). Prints the error message, or the registers of each region.
 */
#include <stdio.h>
#include <stdlib.h>

#include "../../../firmware/include/cpu.h"

#define MEMORIES_MAX 32

/* CMSIS's values are used as they are; what would touch the core's registers is recorded here. */

static struct {
    uint32_t TYPE;
} unit;

static struct {
    uint32_t rbar;
    uint32_t rlar;
} regions_set[MEMORIES_MAX];

static uint8_t attributes_set[8];
static int enabled = 1;

#undef MPU
#define MPU (&unit)
#define ARM_MPU_SetRegion(number, base, limit) \
    (regions_set[number].rbar = (base), regions_set[number].rlar = (limit))
#define ARM_MPU_ClrRegion(number) (regions_set[number].rlar = 0)
#define ARM_MPU_SetMemAttr(index, attribute) (attributes_set[index] = (attribute))
#define ARM_MPU_Enable(control) (enabled = ((control) == 0))
#define ARM_MPU_Disable() (enabled = 0)
#define __DSB() ((void)0)
#define __ISB() ((void)0)

#include "../../../firmware/cortex_m/mpu.c"

static struct ethosu_memory memories[MEMORIES_MAX];
const struct ethosu_board ethosu_board = {.memories = memories, .memory_count = MEMORIES_MAX};

static uint32_t number(const char *text)
{
    return (uint32_t)strtoul(text, NULL, 0);
}

static void print_regions(size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t rlar = regions_set[i].rlar;
        uint32_t index = (rlar & MPU_RLAR_AttrIndx_Msk) >> MPU_RLAR_AttrIndx_Pos;
        printf("%08x %08x %02x\n", regions_set[i].rbar, rlar, attributes_set[index]);
    }
}

int main(int count, char **arguments)
{
    static char names[MEMORIES_MAX][8];
    size_t used = 0;
    for (int i = 2; i + 3 < count && used < MEMORIES_MAX; i += 4, used++) {
        snprintf(names[used], sizeof names[used], "m%zu", used);
        memories[used] = (struct ethosu_memory){
            .name = names[used],
            .start = (void *)(uintptr_t)number(arguments[i]),
            .end = (void *)(uintptr_t)number(arguments[i + 1]),
            .cache = (uint8_t)number(arguments[i + 2]),
            .cpu = (uint8_t)number(arguments[i + 3]),
        };
    }
    uint32_t regions = number(arguments[1]);
    if (regions > MEMORIES_MAX) {
        return 3;
    }
    for (uint32_t i = 0; i < regions; i++) {
        regions_set[i].rlar = MPU_RLAR_EN_Msk; // what a bootloader left
    }
    unit.TYPE = regions << MPU_TYPE_DREGION_Pos;
    struct ethosu_board board = {.memories = memories, .memory_count = used};
    const char *refused = mpu_enable(&board);
    if (refused != NULL) {
        puts(refused);
        return enabled ? 2 : 1;
    }
    for (size_t i = used; i < regions; i++) {
        if (regions_set[i].rlar != 0) {
            return 4;
        }
    }
    if ((count - 2) % 4 == 1) {
        mpu_set_writable((void *)(uintptr_t)number(arguments[count - 1]), true);
    }
    if ((count - 2) % 4 == 2) {
        const void *address = (void *)(uintptr_t)number(arguments[count - 2]);
        mpu_set_registers(address, true);
        if (number(arguments[count - 1]) == 0) {
            mpu_set_registers(address, false);
        }
    }
    print_regions(used);
    return enabled ? 0 : 2;
}
