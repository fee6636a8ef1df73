// SPDX-License-Identifier: MIT
/**
 * The data cache that QEMU's Cortex-M55 lacks. While it is on, the CPU works on the guest's RAM,
 * and NPU and DMA controller on a copy of it.
 *
 * While the cache is off, or if the user did not select a coherence mode, all of them work on the
 * guest's RAM. Call from any thread unless noted otherwise.
 */
#ifndef CACHE_H
#define CACHE_H

#include "base/qemu_api.h"
#include "coherence.h"
#include "memory/guest_memory.h"

/**
 * Copy the memories if a coherence mode is selected; on failure ends QEMU with an error message.
 */
void cache_create(const struct coherence_mode *mode);

/** Did the user select a coherence mode? */
bool cache_is_requested(void);

/**
 * Switch the cache on or off. Both make the CPU's copy and memory equal, keeping the CPU's stores,
 * else those of other bus masters. Big lock.
 */
void cache_enable(bool on);

bool cache_enabled(void);

/** The MPU configuration has changed. Makes the copies equal, like cache_enable(). Big lock. */
void cache_attributes_changed(void);

/** The program starts a bus master. QEMU does not show DSBs, so one is assumed here. */
void cache_barrier(void);

/** Clean, invalidate or both, for the line at this guest address. */
void cache_maintain_line(enum coherence_operation operation, uint32_t address);

/** The same for all lines. */
void cache_maintain_all(enum coherence_operation operation);

/** Like guest_memory_map(), for NPU and DMA controller. */
uint8_t *cache_map(enum guest_memory_master master, uint64_t address, uint64_t length, bool write);

/** Is memory equal to the CPU's copy in [address, address + size)? */
bool cache_is_clean(uint64_t address, uint64_t size);

/** A point at which lines may be evicted. */
void cache_event(void);

/** Memory for part of a DMA controller's access, or NULL if none. */
uint8_t *cache_bus_bytes(uint64_t address, unsigned size, bool write);

/**
 * Memory region for a DMA controller that sees the memories at the CPU's addresses and has mapped
 * them with cache_map(). Big lock.
 */
Object *cache_bus(void);

#endif
