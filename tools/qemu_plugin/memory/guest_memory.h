// SPDX-License-Identifier: MIT
/** The guest's memories as host pointers. */
#ifndef GUEST_MEMORY_H
#define GUEST_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct board_memory;

/**
 * Bus masters: NPU and DMA controller can access fewer memories than the CPU, which has private
 * TCMs.
 */
enum guest_memory_master {
    MASTER_CPU,
    MASTER_NPU,
    MASTER_DMA,
};

/** A memory accessible to NPU and DMA controller, which the CPU's data cache covers. */
struct guest_memory_block {
    const char *name;
    uint32_t base;
    uint8_t *host; /**< the CPU's copy */
    uint64_t size; /**< bytes */
    int file;      /**< descriptor of the shared file that backs it, or -1 */
};

/** Get the next such memory; `*index` counts from 0. False at the end. */
bool guest_memory_next(size_t *index, struct guest_memory_block *block);

/** A memory backed by a host file, so that other processes can see it. */
struct guest_memory_file {
    const struct board_memory *row; /**< NULL ends the list */
    int file;                       /**< open descriptor of a file of the same size */
};

/**
 * Find the machine's memories, and map the files of those listed; ends QEMU with an error message
 * if one is missing or does not fit.
 */
void guest_memory_find(const struct guest_memory_file *files);

/**
 * Fill memory that loses its content at power loss with noise: TCMs, SRAM and DDR, except for the
 * non-volatile part.
 */
void guest_memory_randomize(void);

/**
 * Host pointer to guest bytes [address, address + length), or NULL unless all of them are in one
 * memory that allows the master this access. From any thread.
 */
uint8_t *guest_memory_map(enum guest_memory_master master, uint64_t address, uint64_t length,
                          bool write);

#endif
