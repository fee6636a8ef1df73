// SPDX-License-Identifier: MIT
/** Cache attributes of memory, as configured in the memory protection unit. */
#ifndef MPU_H
#define MPU_H

#include <stdint.h>

#include "base/qemu_api.h"
#include "coherence.h"

/** The MPU's registers in the System Control Space. */
#define MPU_BASE 0xE000ED90u
#define MPU_SIZE 0x38u

/**
 * Read the current MPU configuration; no effect while the MPU is off. Big lock.
 *
 * @param registers   QEMU's region, and the offset of MPU_BASE in it
 * @param attributes  of an access by the guest; they select the secure or non-secure MPU
 */
void mpu_read(MemoryRegion *registers, uint64_t offset, MemTxAttrs attributes);

/** Machine reset: all memory is write-back until configured. */
void mpu_reset(void);

/** Cache attribute of memory from `address` on, up to *end (initially the caller's upper limit). */
enum coherence_attribute mpu_attribute(uint64_t address, uint64_t *end);

#endif
