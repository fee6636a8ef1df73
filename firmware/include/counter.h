// SPDX-License-Identifier: MIT
/**
 * The counter behind clock.c: it counts on its own, and interrupts when asked to. Implemented by
 * cortex_m/systick.c, or by the file of another core.
 */
#ifndef FIRMWARE_COUNTER_H
#define FIRMWARE_COUNTER_H

#include <stdint.h>

#include "cpu.h"

#define CYCLES_PER_MS (BOARD_CLOCK_HZ / 1000u)
#define CYCLES_PER_US (BOARD_CLOCK_HZ / 1000000u)

#ifndef COUNTER_LONGEST_MS
/** It interrupts by itself after this time at most: a later alarm need not be set. */
#define COUNTER_LONGEST_MS ((SysTick_LOAD_RELOAD_Msk + CYCLES_PER_MS) / CYCLES_PER_MS)
#endif

/** Start to count, from 0. */
void counter_start(void);

/** Milliseconds since the start, and in *cycles the cycles into the current one. */
uint64_t counter_now(uint32_t *cycles);

/**
 * Call startup_systick_handler() in `cycles` from now, or up to 20 us later. It may be called
 * before then too, and replaces an earlier alarm that would come later. Interrupts have to be
 * masked.
 */
void counter_alarm(uint64_t cycles);

#endif
