// SPDX-License-Identifier: MIT
/**
 * Code that the guest wrote: is it in memory, and does the instruction cache
 * know? The CPU fetches instructions from memory, past its data cache, and
 * keeps what it fetched. QEMU executes what the CPU wrote last.
 */
#ifndef CODE_CHECK_H
#define CODE_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "qemu_api.h"

/** Look at code that is about to be executed; ends QEMU with a sentence when it is old. */
void code_check(const struct qemu_plugin_tb *tb);

/** The instruction cache is switched on, and empty; or off. */
void code_check_enable(bool on);

/** The instruction cache is empty from now on; or the line that holds this address is not in it. */
void code_check_discard_all(void);
void code_check_discard(uint32_t address);

#endif
