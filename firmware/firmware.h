// SPDX-License-Identifier: MIT
/** What the port's files tell each other. */
#ifndef FIRMWARE_FIRMWARE_H
#define FIRMWARE_FIRMWARE_H

/**
 * Stop every device that accesses memory by itself. Comes before the Python
 * heap is freed (soft reset) and before a reset.
 */
void firmware_stop_devices(void);

/** Forget a write of the ROM file system that has not ended: its program has. */
void romfs_forget_deploy(void);

#endif
