// SPDX-License-Identifier: MIT
/**
 * The emulator's registers: console, log and counters. Without them, the
 * functions do nothing and every register reads as 0.
 */
#ifndef FIRMWARE_EMULATOR_H
#define FIRMWARE_EMULATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "console.h"

/** The fast console. */
extern const struct console_port emulator_console;

/** The host's stderr as a console port, for fault reports only. */
extern const struct console_port emulator_log_port;

/** Does the image run on the emulator? Reads a register of the core, nothing on the bus. */
bool emulator_present(void);

/** The page's EMULATOR_FEATURE_* bits. */
uint32_t emulator_features(void);

/** Read the 64-bit counter whose low register is at `offset`. */
uint64_t emulator_counter(uint32_t offset);

/** Read the register at `offset`. */
uint32_t emulator_register(uint32_t offset);

/** The emulator requested a call (fault "board.call"), in an interrupt; modemulator.c. */
void emulator_on_call(void);

/** Print on the host's stderr. */
void emulator_log(const char *bytes, size_t size);

/** Inject the fault named by a text, such as "npu.hang:1"; false if there is no such fault. */
bool emulator_inject(const char *bytes, size_t size);

#endif
