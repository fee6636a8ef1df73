// SPDX-License-Identifier: MIT
/** See core_power.h. */
#include "cpu/core_power.h"

#include <stddef.h>

#include "board/machine.h"

#define CPDLPSTATE 0xE001E300u
/** OFF for each: ELPSTATE in Arm's system_ARMCM55.c, the others in pm.c of Alif's DFP. */
#define AFTER_RESET 0x333u

static uint32_t state;

static uint32_t read_register(void *context, uint32_t offset)
{
    (void)context;
    (void)offset;
    return state;
}

static void write_register(void *context, uint32_t offset, uint32_t value)
{
    (void)context;
    (void)offset;
    state = value & AFTER_RESET;
}

static void reset(void *opaque)
{
    (void)opaque;
    state = AFTER_RESET;
}

void core_power_create(void)
{
    machine_map(&(struct machine_window){.name = "cpdlpstate",
                                         .base = CPDLPSTATE,
                                         .size = 4,
                                         .read = read_register,
                                         .write = write_register,
                                         .view = machine_cpu_view()},
                NULL);
    qemu_register_reset(reset, NULL);
}
