// SPDX-License-Identifier: MIT
/** Faults: a readable report, then a reset; and reads that may fault. */
#ifndef FIRMWARE_FAULT_H
#define FIRMWARE_FAULT_H

#include <stdbool.h>
#include <stdint.h>

/** Read a word at an address that may fault; false if it did. */
bool fault_guarded_read(const volatile uint32_t *address, uint32_t *value);

/** Print why the firmware cannot continue, then reset. */
_Noreturn void fault_panic(const char *reason);

#endif
