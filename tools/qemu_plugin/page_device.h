// SPDX-License-Identifier: MIT
/** The register page that only the emulator has; emulator_page.h is what the guest sees of it. */
#ifndef PAGE_DEVICE_H
#define PAGE_DEVICE_H

/** Create it in the machine, and begin to serve the console. */
void page_device_create(void);

/** Machine reset: interrupts off; bytes on their way through the console stay. */
void page_device_reset(void);

#endif
