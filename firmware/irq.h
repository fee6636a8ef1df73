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
 * Sleep until an interrupt, such as the clock's tick, has been served. Returns immediately if one
 * was served since the last return from here, so testing a condition after each return never misses
 * a change by an interrupt.
 */
void irq_wait(void);

/** Like irq_wait(), for about `ms` at most; ticks of the clock before then do not end it. */
void irq_wait_ms(uint32_t ms);

/** Sleep until an interrupt has been served, or return immediately if *flag is not 0. */
void irq_wait_unless(const volatile uint32_t *flag);

#endif
