// SPDX-License-Identifier: MIT
/**
 * Where a boot loader starts an image: at its first section.
 *
 * Some loaders take the sections of the ELF file in the order of their headers, and not the entry
 * or a fixed address. The order then decides whether the board starts at all.
 */
#ifndef BOOT_IMAGE_H
#define BOOT_IMAGE_H

#include <stdint.h>

/**
 * Address of the first section that is loaded from the image given by `-device loader,file=IMAGE`.
 * Ends QEMU with an error message if there is no vector table: a board would stay silent.
 */
uint32_t boot_image_start(void);

#endif
