// SPDX-License-Identifier: MIT
/** What the port's files tell each other. */
#ifndef FIRMWARE_FIRMWARE_H
#define FIRMWARE_FIRMWARE_H

/**
 * Stop every device that accesses memory by itself. Comes before the Python
 * heap is freed (soft reset) and before a reset.
 */
void firmware_stop_devices(void);

/**
 * Finish what a deploy of the ROM file system has left, before anything is
 * mounted or loaded; one that has not sent all is forgotten.
 */
void romfs_start(void);

#endif
