// SPDX-License-Identifier: MIT
/**
 * The core's register CPDLPSTATE: which power states core, extension unit (FP, MVE) and cache RAMs
 * may enter while they are idle. It stores what is written, without an effect. QEMU has it not.
 */
#ifndef CORE_POWER_H
#define CORE_POWER_H

/** Add it to the CPU's view of memory. */
void core_power_create(void);

#endif
