// SPDX-License-Identifier: MIT
/**
 * What can go wrong while non-volatile memory changes. Devices change such memory
 * step by step: a line, a word, a page. The step at which the power fails
 * leaves each bit as it was or as it was to become, by chance; later steps do
 * nothing until the machine was reset. A step that is refused changes nothing.
 * All functions belong to QEMU's big lock.
 */
#ifndef POWER_CUT_H
#define POWER_CUT_H

#include <stdbool.h>
#include <stdint.h>

/** Change `size` bytes of non-volatile memory to these. @return  false: refused */
bool power_cut_write(uint8_t *at, const uint8_t *bytes, uint32_t size);

/**
 * Faults of the device "nvm". "cut": the power fails in the step number `count`
 * from now, 0: not any more. "cut-again": the same, from the end of that cut on.
 * "seed": chooses the bits. "fail": the step number `count` from now is refused.
 *
 * @return  false: no such fault
 */
bool power_cut_inject(const char *fault, unsigned count);

/** The machine resets: steps have their effect again. */
void power_cut_reset(void);

#endif
