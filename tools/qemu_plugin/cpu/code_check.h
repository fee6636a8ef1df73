// SPDX-License-Identifier: MIT
/**
 * Checks that code written by the guest is in memory and that the instruction cache is not stale.
 * The CPU fetches instructions from memory, bypassing its data cache, and caches them. QEMU always
 * executes the latest bytes that the CPU wrote.
 */
#ifndef CODE_CHECK_H
#define CODE_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/qemu_api.h"

/** Check code that is about to be executed; ends QEMU with an error message if it is stale. */
void code_check(const struct qemu_plugin_tb *tb);

/** Switch the instruction cache on (empty) or off. */
void code_check_enable(bool on);

/** Empty the instruction cache, or invalidate the line at this address. */
void code_check_invalidate_all(void);
void code_check_invalidate(uint32_t address);

#endif
