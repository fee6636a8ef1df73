// SPDX-License-Identifier: MIT
/** What disk_names.c needs to know about machine.RAMDisk and machine.Flash. */
#pragma once

#include <stdint.h>

#include "extmod/vfs.h"

struct disk;

/** The disk that a file system reads without other code in between; NULL for any other device. */
const struct disk *disk_of(const mp_vfs_blockdev_t *device);

/** A number that changes with each write to any disk. */
uint32_t disk_changes(void);
