// SPDX-License-Identifier: MIT
/**
 * Failures while non-volatile memory is being written. Devices write such memory step by step: a
 * line, a word, a page. The step in which the power fails leaves each bit at random with its old or
 * new value; later steps have no effect until the machine is reset. A rejected step changes
 * nothing. All functions belong to QEMU's big lock.
 */
#ifndef POWER_CUT_H
#define POWER_CUT_H

#include <stdbool.h>
#include <stdint.h>

/** Before all others: how to know whether an NPU runs, and how the board loses its power. */
void power_cut_create(bool (*any_npu_runs)(void), void (*lose)(void));

/** Write `size` bytes to non-volatile memory. @return  false if rejected */
bool power_cut_write(uint8_t *at, const uint8_t *bytes, uint32_t size);

/**
 * Faults of the device "nvm". "cut": the power fails in the `count`-th step from now, 0 cancels it.
 * "cut-again": the same, counted from the end of that cut. "seed": selects the random bits. "fail":
 * the `count`-th step from now is rejected. "lost": it changes nothing, and is reported as done.
 *
 * @return  false if the fault is unknown
 */
bool power_cut_inject(const char *fault, unsigned count);

/** Machine reset: steps take effect again. */
void power_cut_reset(void);

#endif
