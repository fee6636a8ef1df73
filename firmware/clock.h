// SPDX-License-Identifier: MIT
/** Time since start-up, from the SysTick. */
#ifndef FIRMWARE_CLOCK_H
#define FIRMWARE_CLOCK_H

#include <stdint.h>

/** Start the tick, one per millisecond. */
void clock_start(void);

/** One millisecond has passed (called by the interrupt). */
void clock_tick(void);

/**
 * Sleep until an interrupt comes or about `at_most_ms` have passed, without the ticks up to then or
 * to the next soft timer: the CPU sleeps through. Interrupts have to be masked.
 */
void clock_sleep(uint32_t at_most_ms);

/** Milliseconds since start-up; the low word, which wraps after 49 days, may be used alone. */
uint64_t clock_ms(void);

/** Microseconds since start-up. */
uint64_t clock_us(void);

/** CPU cycles since start-up, as far as the SysTick counts them; wraps. */
uint32_t clock_cycles(void);

/** Nanoseconds since 1970, or since start-up on a board without a wall clock. */
uint64_t clock_epoch_ns(void);

/** Whole seconds of clock_epoch_ns(); wraps in 2106. */
uint32_t clock_epoch_s(void);

/** Set the wall clock: it is `seconds` since 1970 now. */
void clock_set_epoch(uint64_t seconds);

#endif
