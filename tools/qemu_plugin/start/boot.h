// SPDX-License-Identifier: MIT
/** The boot loader of a board on QEMU's machine "none". */
#ifndef BOOT_H
#define BOOT_H

/**
 * When the image is known, and before the CPU runs: choose where the CPU starts, if image or table
 * decide that. Ends QEMU with an error message if the loader finds nothing to start.
 */
void boot_choose_start(void);

#endif
