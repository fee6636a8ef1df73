// SPDX-License-Identifier: MIT
/** The guest's memories as host pointers. */
#ifndef GUEST_MEMORY_H
#define GUEST_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct board_memory;

/** The bus master: the others reach fewer memories than the CPU, whose TCMs are its own. */
enum guest_memory_master {
    MASTER_CPU,
    MASTER_NPU,
    MASTER_DMA,
};

/** A memory on a path of NPU and DMA controller: what the CPU has a data cache for. */
struct guest_memory_block {
    const char *name;
    uint32_t base;
    uint8_t *host; /**< what the CPU reads and writes */
    uint64_t size; /**< bytes */
    int file;      /**< descriptor of the file that is this memory, shared with others; or -1 */
};

/** The next such memory, `*index` counts from 0. False: there are no more. */
bool guest_memory_next(size_t *index, struct guest_memory_block *block);

/** A memory that is to be a file of the host, so that other processes see it too. */
struct guest_memory_file {
    const struct board_memory *row; /**< NULL: the end of a list */
    int file;                       /**< open descriptor of a file of the memory's size */
};

/**
 * Find the memories of the machine, and give those listed their files; ends
 * QEMU with a sentence when one is missing or does not fit.
 */
void guest_memory_find(const struct guest_memory_file *files);

/** Fill with noise what does not outlive a loss of power: TCMs, SRAM, DDR, but for what the board
 * keeps. */
void guest_memory_lose(void);

/**
 * Host pointer to guest bytes [address, address + length), or NULL when any of
 * them is not in one memory that the master may access so. From any thread.
 */
uint8_t *guest_memory_map(enum guest_memory_master master, uint64_t address, uint64_t length,
                          bool write);

#endif
