// SPDX-License-Identifier: MIT
/** Time since start-up, without a tick: the next timer or interrupt wakes the CPU. */
#ifndef FIRMWARE_CLOCK_H
#define FIRMWARE_CLOCK_H

#include <stdint.h>

/** Start the clock. */
void clock_start(void);

/** The counter's interrupt: run soft timers that are due. */
void clock_interrupt(void);

/**
 * Have an interrupt when clock_ms() has advanced by `ms`, or earlier. `ms` is not 0. Interrupts
 * have to be masked.
 */
void clock_alarm_ms(uint32_t ms);

/** The same in microseconds from now; at most 20 late. */
void clock_alarm_us(uint32_t us);

/** Milliseconds since start-up; the low word, which wraps after 49 days, may be used alone. */
uint64_t clock_ms(void);

/** Microseconds since start-up. */
uint64_t clock_us(void);

/** Cycles of the counter since start-up; wraps. */
uint32_t clock_cycles(void);

/** Nanoseconds since 1970, or since start-up on a board without a wall clock. */
uint64_t clock_epoch_ns(void);

/** Whole seconds of clock_epoch_ns(); wraps in 2106. */
uint32_t clock_epoch_s(void);

/** Set the wall clock: it is `seconds` since 1970 now. */
void clock_set_epoch(uint64_t seconds);

#endif
