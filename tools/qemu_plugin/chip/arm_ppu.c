// SPDX-License-Identifier: MIT
/**
 * Arm's power policy unit (PPU, DEN 0051): the status follows the policy immediately. The policy is
 * a store-only register, which may be the gate of the device that the unit powers. Not modelled:
 * refusals, interrupts, operating modes.
 */
#include "board/machine.h"
#include "board/registers.h"
#include "chip/chip.h"

#define WINDOW_SIZE 0x1000u

enum ppu_register { POLICY = 0x00, STATUS = 0x08 };

static uint32_t base_address;

static uint32_t read_register(void *context, uint32_t offset)
{
    (void)context;
    return registers_load(base_address + (offset == STATUS ? POLICY : offset));
}

static void write_register(void *context, uint32_t offset, uint32_t value)
{
    (void)context;
    if (offset != STATUS) {
        registers_store(base_address + offset, value);
    }
}

void arm_ppu_create(uint32_t base)
{
    base_address = base;
    machine_map(&(struct machine_window){.name = "ppu",
                                         .base = base,
                                         .size = WINDOW_SIZE,
                                         .read = read_register,
                                         .write = write_register},
                NULL);
}
