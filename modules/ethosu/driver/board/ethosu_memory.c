// SPDX-License-Identifier: MIT
/** Memory queries based on the board's table; see ethosu_memory.h. */
#include "ethosu_memory.h"

#include "ethosu_driver.h"

#include "driver/board/ethosu_io.h"

/** Default without a board table: one memory with all addresses. */
static const struct ethosu_memory default_memory = {
    .name = "memory",
    .end = (const void *)UINTPTR_MAX,
    .masters = ETHOSU_MASTERS_ALL,
};

static const struct ethosu_board nothing_known = {.name = "unknown"};

/** The board's table, or NULL. Owned by this file. */
static const struct ethosu_board *in_use;

void ethosu_ext_memory_use(const struct ethosu_board *board)
{
    in_use = board;
}

const struct ethosu_board *ethosu_ext_memory_board(void)
{
    return in_use != NULL ? in_use : &nothing_known;
}

const struct ethosu_npu *ethosu_ext_memory_npu(uintptr_t base)
{
    const struct ethosu_board *board = ethosu_ext_memory_board();
    for (size_t i = 0; i < board->npu_count; i++) {
        if (board->npus[i].base == base) {
            return &board->npus[i];
        }
    }
    return NULL;
}

const struct ethosu_memory *ethosu_ext_memory_find(uint64_t address, size_t size)
{
    const struct ethosu_board *board = ethosu_ext_memory_board();
    if (board->memory_count == 0) {
        return &default_memory;
    }
    const uintptr_t at = (uintptr_t)address;
    const struct ethosu_memory *memory = board->memories;
    for (size_t left = board->memory_count; left != 0; left--, memory++) {
        const uintptr_t end = (uintptr_t)memory->end;
        if (at >= (uintptr_t)memory->start && at <= end && size <= end - at) {
            return at == address ? memory : NULL;
        }
    }
    return NULL;
}

bool ethosu_ext_memory_reaches(const void *start, size_t size, unsigned masters)
{
    const struct ethosu_memory *memory = ethosu_ext_memory_find((uintptr_t)start, size);
    return memory != NULL && (memory->masters & masters) == masters;
}

uint64_t ethosu_ext_memory_npu_address(const struct ethosu_memory *memory, uint64_t address)
{
    return memory->npu_address == 0 ? address
                                    : memory->npu_address + (address - (uintptr_t)memory->start);
}

size_t ethosu_ext_memory_line(void)
{
    uint32_t line = ethosu_ext_memory_board()->cache_line;
    return line > 1 ? line : 1;
}

uintptr_t ethosu_ext_memory_align(uintptr_t value)
{
    uintptr_t mask = ethosu_ext_memory_line() - 1;
    return (value + mask) & ~mask;
}

void ethosu_ext_memory_clean_in(const struct ethosu_memory *memory, const void *start, size_t size)
{
    if (size != 0 && (memory == NULL || ethosu_ext_memory_needs_clean(memory))) {
        const uint64_t address = (uintptr_t)start;
        ethosu_flush_dcache(&address, &size, 1);
    }
}

void ethosu_ext_memory_discard_in(const struct ethosu_memory *memory, const void *start,
                                  size_t size)
{
    if (size != 0 && (memory == NULL || ethosu_ext_memory_needs_discard(memory))) {
        const uint64_t address = (uintptr_t)start;
        ethosu_invalidate_dcache(&address, &size, 1);
    }
}

void ethosu_ext_memory_clean(const void *start, size_t size)
{
    ethosu_ext_memory_clean_in(ethosu_ext_memory_find((uintptr_t)start, size), start, size);
}

void ethosu_ext_memory_discard(const void *start, size_t size)
{
    ethosu_ext_memory_discard_in(ethosu_ext_memory_find((uintptr_t)start, size), start, size);
}

void ethosu_ext_memory_barrier(void)
{
    ethosu_io_barrier();
}
