// SPDX-License-Identifier: MIT
/** MRAM that accepts only whole lines of 16 bytes; any other store is lost and reported. */
#ifndef MRAM_H
#define MRAM_H

#include <stdint.h>

#include "qemu_api.h"

/** Initialise `region` as such a memory, with this name and size in bytes. */
void mram_init(MemoryRegion *region, const char *name, uint32_t base, uint32_t size);

#endif
