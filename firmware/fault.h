// SPDX-License-Identifier: MIT
/** Faults: a report that a person can read, then a reset; and reads that may fault. */
#ifndef FIRMWARE_FAULT_H
#define FIRMWARE_FAULT_H

#include <stdbool.h>
#include <stdint.h>

/** Read a word that may not be there; false when the read faulted. */
bool fault_guarded_read(const volatile uint32_t *address, uint32_t *value);

/** Print why the firmware cannot continue, then reset. */
_Noreturn void fault_panic(const char *reason);

#endif
