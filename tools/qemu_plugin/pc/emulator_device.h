// SPDX-License-Identifier: MIT
/**
 * The emulator's own registers. firmware/emulator/emulator_registers.h describes the guest's view.
 */
#ifndef EMULATOR_DEVICE_H
#define EMULATOR_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

/** Location of the registers on a board. */
struct emulator_slot {
    uint32_t base;
    unsigned irq; /**< NVIC number of the console's interrupt */
};

/**
 * Let the core's EMULATOR_ID tell the guest whether the registers are there; without them it is 0,
 * as on a chip.
 */
void emulator_device_identify(bool present);

/** Create it in the machine, and start serving the console. */
void emulator_device_create(const struct emulator_slot *slot);

/** Interrupt the guest, which then calls its function. */
void emulator_device_call(void);

/** Machine reset: disable interrupts; bytes in transit through the console are kept. */
void emulator_device_reset(void);

#endif
