// SPDX-License-Identifier: MIT
/**
 * The emulator's own registers. firmware/emulator/emulator_registers.h describes the guest's view.
 */
#ifndef EMULATOR_DEVICE_H
#define EMULATOR_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "board/slots.h"

/**
 * Let the core's EMULATOR_ID tell the guest whether the registers are there; without them it is 0,
 * as on a chip.
 */
void emulator_device_identify(bool present);

/**
 * Create it in the machine, and start serving the console. `inject_fault` injects one that the
 * guest names; false if it is unknown.
 */
void emulator_device_create(const struct emulator_slot *slot,
                            bool (*inject_fault)(const char *fault));

/** Interrupt the guest, which then calls its function. */
void emulator_device_call(void);

/** Machine reset: disable interrupts; bytes in transit through the console are kept. */
void emulator_device_reset(void);

#endif
