// SPDX-License-Identifier: MIT
/** The guest's memories as host pointers. */
#ifndef GUEST_MEMORY_H
#define GUEST_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/** Who asks: the others reach fewer memories than the CPU, whose TCMs are its own. */
enum guest_memory_master {
    MASTER_CPU,
    MASTER_NPU,
    MASTER_DMA,
};

/** Find the memories of the machine; ends QEMU with a sentence when one is missing. */
void guest_memory_find(void);

/**
 * Host pointer to guest bytes [address, address + length), or NULL when any of
 * them is not in one memory that the master may access so. From any thread.
 */
uint8_t *guest_memory_map(enum guest_memory_master master, uint64_t address, uint64_t length,
                          bool write);

#endif
