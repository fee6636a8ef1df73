// SPDX-License-Identifier: MIT
/**
 * The emulator's own register page. firmware/emulator/emulator_page.h describes the guest's view.
 */
#ifndef PAGE_DEVICE_H
#define PAGE_DEVICE_H

#include <stdint.h>

/** Location of the page on a board. */
struct page_slot {
    uint32_t base;
    unsigned irq; /**< NVIC number of the console's interrupt */
};

/** Create it in the machine, and start serving the console. */
void page_device_create(const struct page_slot *slot);

/** Interrupt the guest, which then calls its function. */
void page_device_call(void);

/** Machine reset: disable interrupts; bytes in transit through the console are kept. */
void page_device_reset(void);

#endif
