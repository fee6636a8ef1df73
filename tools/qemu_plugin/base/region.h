// SPDX-License-Identifier: MIT
/** Regions of the machine's memory. */
#ifndef REGION_H
#define REGION_H

#include <stdint.h>

#include "base/qemu_api.h"

/** Allocate a region; never freed. */
MemoryRegion *region_new(void);

/** Create RAM at an address. */
MemoryRegion *region_create_ram(const char *name, uint32_t base, uint32_t size, int priority);

#endif
