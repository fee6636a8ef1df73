// SPDX-License-Identifier: MIT
/**
 * Interrupts: handlers connected at run time, and the wait that misses none.
 */
#ifndef FIRMWARE_IRQ_H
#define FIRMWARE_IRQ_H

#include <stdbool.h>
#include <stdint.h>

/** Route device interrupt `number` to `handler(argument)` and enable it. */
void irq_connect(unsigned number, void (*handler)(void *argument), void *argument);

/** Disable device interrupt `number` and forget its handler. */
void irq_disconnect(unsigned number);

/** Mask all interrupts; the result says how it was, for irq_restore(). */
uint32_t irq_mask(void);

/** Undo the irq_mask() that returned `state`. */
void irq_restore(uint32_t state);

/**
 * Sleep until an interrupt, such as the clock's tick, has been served, or return at once if one was
 * since the last return from here. Test your condition after each return: what an interrupt changed
 * before the sleep is never slept over.
 */
void irq_wait(void);

/** As irq_wait(), for about `ms` at most; the clock's ticks up to then wake nobody. */
void irq_wait_ms(uint32_t ms);

/** Sleep until an interrupt has been served, or return at once when *flag is not 0. */
void irq_wait_unless(const volatile uint32_t *flag);

#endif
