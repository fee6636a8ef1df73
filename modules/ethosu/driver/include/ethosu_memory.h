// SPDX-License-Identifier: MIT
/**
 * Memory queries: which bus masters can access a memory, at which address, and which
 * cache maintenance keeps it coherent for CPU, NPU and DMA controller.
 *
 * The data comes from the board's table (ethosu_board.h). Without a table, every
 * address counts as cached memory that all masters can access, so nothing is
 * rejected and everything is cleaned.
 *
 * Cleaning and invalidating call Arm's hooks ethosu_flush_dcache() and
 * ethosu_invalidate_dcache(), which a port overrides for its cache.
 */
#ifndef ETHOSU_MEMORY_H
#define ETHOSU_MEMORY_H

#include "ethosu_board.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Use this board's table, which must stay valid; NULL for no table. */
void ethosu_ext_memory_use(const struct ethosu_board *board);

/** The board in use; never NULL. */
const struct ethosu_board *ethosu_ext_memory_board(void);

/** The board's NPU with this register base address, or NULL. */
const struct ethosu_npu *ethosu_ext_memory_npu(uintptr_t base);

/** The memory that contains all `size` bytes at a CPU address, or NULL. */
const struct ethosu_memory *ethosu_ext_memory_find(uint64_t address, size_t size);

/**
 * Can these masters access all of the bytes?
 *
 * @param masters  enum ethosu_masters, or-ed
 */
bool ethosu_ext_memory_reaches(const void *start, size_t size, unsigned masters);

/** Convert a CPU address in a memory to the NPU's address. */
uint64_t ethosu_ext_memory_npu_address(const struct ethosu_memory *memory, uint64_t address);

/** Cache line size in bytes, a power of two; 1 without a data cache. */
size_t ethosu_ext_memory_line(void);

/** Round an address or a size up to whole cache lines. */
uintptr_t ethosu_ext_memory_align(uintptr_t value);

/** Can the cache hold dirty lines of this memory? */
static inline bool ethosu_ext_memory_needs_clean(const struct ethosu_memory *memory)
{
    return memory->cache == ETHOSU_CACHE_WRITE_BACK && memory->cpu != ETHOSU_CPU_CODE;
}

/** Can the cache hold stale lines of this memory after another master has written it? */
static inline bool ethosu_ext_memory_needs_discard(const struct ethosu_memory *memory)
{
    return memory->cache != ETHOSU_CACHE_NONE;
}

/**
 * Clean these bytes before another master reads or writes them, if the memory is
 * cached write-back. A barrier must follow.
 */
void ethosu_ext_memory_clean(const void *start, size_t size);

/**
 * Invalidate the CPU's copies of these bytes after another master has written them, if
 * the memory is cached. The lines at both ends must have no other writer. A barrier
 * must follow before the CPU reads them.
 */
void ethosu_ext_memory_discard(const void *start, size_t size);

/** The same for a known memory, to save look-ups within a transfer. */
void ethosu_ext_memory_clean_in(const struct ethosu_memory *memory, const void *start, size_t size);
void ethosu_ext_memory_discard_in(const struct ethosu_memory *memory, const void *start,
                                  size_t size);

/** Complete all earlier writes, cleans and invalidates before any later access. */
void ethosu_ext_memory_barrier(void);

#ifdef __cplusplus
}
#endif

#endif
