// SPDX-License-Identifier: MIT
/**
 * The data cache that QEMU's Cortex-M55 lacks: while it is on, the CPU works
 * on the guest's RAM, and NPU and DMA controller on a copy of it.
 *
 * While the cache is off, or the user wants no coherence mode, all of them
 * work on the guest's RAM. Call from any thread, unless a function says
 * otherwise.
 */
#ifndef CACHE_H
#define CACHE_H

#include "coherence.h"
#include "guest_memory.h"
#include "qemu_api.h"

/** Copy the memories, if the user wants that; ends QEMU with a sentence when it cannot. */
void cache_create(const struct coherence_mode *mode);

/** Does the user want a coherence mode? */
bool cache_wanted(void);

/**
 * Switch the cache on or off. Either way CPU and memory hold the same after it:
 * what the CPU wrote, else what another bus master wrote. Big lock.
 */
void cache_enable(bool on);

bool cache_enabled(void);

/** The MPU says something else about memory now; data is where both find it. Big lock. */
void cache_attributes_changed(void);

/** A program starts a bus master: QEMU shows no DSB, so one is taken for granted here. */
void cache_barrier(void);

/** Clean, discard or both: the line that holds this address of the guest. */
void cache_maintain_line(enum coherence_operation operation, uint32_t address);

/** The same for all lines. */
void cache_maintain_all(enum coherence_operation operation);

/** As guest_memory_map(): what NPU and DMA controller find there. */
uint8_t *cache_map(enum guest_memory_master master, uint64_t address, uint64_t length, bool write);

/** Does memory hold what the CPU sees in [address, address + size)? */
bool cache_is_clean(uint64_t address, uint64_t size);

/** A moment at which lines may be evicted. */
void cache_event(void);

/** What a DMA controller finds at an address, as a part of an access; NULL: nothing. */
uint8_t *cache_bus_bytes(uint64_t address, unsigned size, bool write);

/**
 * The memory region that a DMA controller reads and writes which sees memories
 * where the CPU does, and has looked at them with cache_map(). Big lock.
 */
Object *cache_bus(void);

#endif
