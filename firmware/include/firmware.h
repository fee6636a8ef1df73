// SPDX-License-Identifier: MIT
/** Internal functions of the port. */
#ifndef FIRMWARE_FIRMWARE_H
#define FIRMWARE_FIRMWARE_H

/**
 * Stop every device that accesses memory by itself. Comes before the Python
 * heap is freed (soft reset) and before a reset.
 */
void firmware_stop_devices(void);

/**
 * Finish an interrupted deploy of the ROM file system before anything is mounted
 * or loaded; a deploy that was not sent completely is discarded.
 */
void romfs_start(void);

#endif
