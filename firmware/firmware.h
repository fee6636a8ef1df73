// SPDX-License-Identifier: MIT
/** What the port's files tell each other. */
#ifndef FIRMWARE_FIRMWARE_H
#define FIRMWARE_FIRMWARE_H

/**
 * Stop everything that uses memory behind the CPU's back. Comes before the
 * Python heap goes away (soft reset) and before a reset.
 */
void firmware_stop_devices(void);

#endif
