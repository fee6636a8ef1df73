// SPDX-License-Identifier: MIT
/**
 * The register page that only the emulator has. What the guest sees of it is
 * in firmware/emulator/emulator_page.h.
 */
#ifndef PAGE_DEVICE_H
#define PAGE_DEVICE_H

#include <stdint.h>

/** Where a board has the page. */
struct page_slot {
    uint32_t base;
    unsigned irq; /**< NVIC number of the console's interrupt */
};

/** Create it in the machine, and begin to serve the console. */
void page_device_create(const struct page_slot *slot);

/** Interrupt the guest, which then calls a function of its program. */
void page_device_call(void);

/** Machine reset: interrupts off; bytes on their way through the console stay. */
void page_device_reset(void);

#endif
