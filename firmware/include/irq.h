// SPDX-License-Identifier: MIT
/**
 * Interrupts: handlers connected at run time, and a wait that can't miss one.
 */
#ifndef FIRMWARE_IRQ_H
#define FIRMWARE_IRQ_H

#include <stdbool.h>
#include <stdint.h>

/** Route device interrupt `number` to `handler(argument)` and enable it. */
void irq_connect(unsigned number, void (*handler)(void *argument), void *argument);

/** Disable device interrupt `number` and forget its handler. */
void irq_disconnect(unsigned number);

/** Mask all interrupts; returns the previous state for irq_restore(). */
uint32_t irq_mask(void);

/** Undo the irq_mask() that returned `state`. */
void irq_restore(uint32_t state);

/**
 * Sleep until an interrupt has been served, or clock_ms() has advanced by `at_most_ms`; UINT32_MAX:
 * without a limit. Returns immediately if an interrupt was served since the last return from here,
 * so testing a condition after each return never misses a change by an interrupt. May return early.
 */
void irq_wait_ms(uint32_t at_most_ms);

/** The same with a limit in microseconds. */
void irq_wait_us(uint32_t at_most_us);

/** Like irq_wait_ms(), but returns immediately only if *flag is not 0. */
void irq_wait_unless(const volatile uint32_t *flag, uint32_t at_most_ms);

#endif
