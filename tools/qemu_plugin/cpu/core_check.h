// SPDX-License-Identifier: MIT
/**
 * Instructions that the emulated Cortex-M55 lacks, and that QEMU executes as others: those of
 * PACBTI, which a Cortex-M85 may have. Its hints (PAC, PACBTI, BTI, AUT) do nothing on a core
 * without it, as on a chip.
 */
#ifndef CORE_CHECK_H
#define CORE_CHECK_H

#include "base/qemu_api.h"

/** Check code that is about to be executed; ends QEMU with an error message if it has one. */
void core_check(const struct qemu_plugin_tb *tb);

#endif
