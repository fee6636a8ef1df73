// SPDX-License-Identifier: MIT
/** How the memory protection unit tells the CPU to cache memory. */
#ifndef MPU_H
#define MPU_H

#include <stdint.h>

#include "coherence.h"
#include "qemu_api.h"

/** The MPU's registers in the System Control Space. */
#define MPU_BASE 0xE000ED90u
#define MPU_SIZE 0x38u

/**
 * Note what the MPU says now. Off, it changes nothing. Big lock.
 *
 * @param registers   QEMU's, and the offset of MPU_BASE in them
 * @param attributes  of an access by the guest: they choose the secure or the other MPU
 */
void mpu_read(MemoryRegion *registers, uint64_t offset, MemTxAttrs attributes);

/** Machine reset: nothing is known, all memory counts as write-back. */
void mpu_reset(void);

/** How memory from `address` on is cached, up to *end (which the caller sets to an upper limit). */
enum coherence_attribute mpu_attribute(uint64_t address, uint64_t *end);

#endif
