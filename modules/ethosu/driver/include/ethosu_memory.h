// SPDX-License-Identifier: MIT
/**
 * The one owner of the question: what memory is this, who reaches it, under
 * which address, and what must be done so that CPU, NPU and DMA controller see
 * the same bytes?
 *
 * The answers come from the board's table (ethosu_board.h). Without a table
 * every address counts as memory that all masters reach and that the CPU
 * caches: nothing is refused, and everything is cleaned.
 *
 * Cleaning and discarding end in Arm's hooks ethosu_flush_dcache() and
 * ethosu_invalidate_dcache(), which a port overrides for its cache.
 */
#ifndef ETHOSU_MEMORY_H
#define ETHOSU_MEMORY_H

#include "ethosu_board.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Use this board's table, which must stay valid; NULL: no table. */
void ethosu_ext_memory_use(const struct ethosu_board *board);

/** The board in use; never NULL. */
const struct ethosu_board *ethosu_ext_memory_board(void);

/** The NPU of the board whose registers are at this address, or NULL. */
const struct ethosu_npu *ethosu_ext_memory_npu(uintptr_t base);

/** The memory that holds all `size` bytes from a CPU address on, or NULL. */
const struct ethosu_memory *ethosu_ext_memory_find(uint64_t address, size_t size);

/**
 * Do these masters reach all of the bytes?
 *
 * @param masters  enum ethosu_masters, or-ed
 */
bool ethosu_ext_memory_reaches(const void *start, size_t size, unsigned masters);

/** The NPU's address of a CPU address in a memory. */
uint64_t ethosu_ext_memory_npu_address(const struct ethosu_memory *memory, uint64_t address);

/** Bytes of a cache line, a power of two; 1 where the CPU has no data cache. */
size_t ethosu_ext_memory_line(void);

/** Round an address or a size up to whole cache lines. */
uintptr_t ethosu_ext_memory_align(uintptr_t value);

/** May the cache hold bytes of this memory that memory itself has not? */
static inline bool ethosu_ext_memory_needs_clean(const struct ethosu_memory *memory)
{
    return memory->cache == ETHOSU_CACHE_WRITE_BACK && memory->cpu != ETHOSU_CPU_CODE;
}

/** May the cache hold old copies of this memory when another master has written it? */
static inline bool ethosu_ext_memory_needs_discard(const struct ethosu_memory *memory)
{
    return memory->cache != ETHOSU_CACHE_NONE;
}

/**
 * Before another master reads or writes these bytes: write the CPU's changes
 * to memory, where the memory needs it. A barrier must follow.
 */
void ethosu_ext_memory_clean(const void *start, size_t size);

/**
 * After another master has written these bytes: drop the CPU's copies, where
 * the memory needs it. Both ends lie on lines that nobody else writes. A barrier
 * must follow before the CPU reads them.
 */
void ethosu_ext_memory_discard(const void *start, size_t size);

/** The same where the memory of the span is known: one look-up serves a whole transfer. */
void ethosu_ext_memory_clean_in(const struct ethosu_memory *memory, const void *start, size_t size);
void ethosu_ext_memory_discard_in(const struct ethosu_memory *memory, const void *start,
                                  size_t size);

/** Complete all earlier writes, cleans and invalidates before any later access. */
void ethosu_ext_memory_barrier(void);

#ifdef __cplusplus
}
#endif

#endif
