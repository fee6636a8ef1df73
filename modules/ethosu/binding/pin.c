// SPDX-License-Identifier: MIT
/** Blocks of the heap that stay where they are; see pin.h. */
#include "pin.h"

#include <string.h>

#include "py/gc.h"
#include "py/mpstate.h"
#include "py/runtime.h"

/**
 * The collector's table has a mark of 2 bits for each unit of the heap: the head of a block, or its
 * tail. Its source, gc.c, keeps these to itself.
 */
#define UNIT ((size_t)MICROPY_BYTES_PER_GC_BLOCK)
enum { HEAD = 1, TAIL = 2, MARKS_PER_BYTE = 4, MARKS_PER_WORD = 16 };
#define WORD_OF_TAILS UINT32_C(0xAAAAAAAA)

/** All that is pinned; weak, no root of the collector. */
static struct pins *all;

// What MicroPython calls, and what it would call without this file. Without `--wrap` the second
// does not exist, and the link fails.
void __wrap_gc_free(void *block);
void *__wrap_gc_realloc(void *block, size_t size, bool may_move);
void __real_gc_free(void *block);
void *__real_gc_realloc(void *block, size_t size, bool may_move);

static const mp_state_mem_area_t *area_of(const void *data)
{
    const mp_state_mem_area_t *area = &MP_STATE_MEM(area);
    do {
        if ((const uint8_t *)data >= area->gc_pool_start &&
            (const uint8_t *)data < area->gc_pool_end) {
            return area;
        }
#if MICROPY_GC_SPLIT_HEAP
        area = area->next;
#else
        area = NULL;
#endif
    } while (area != NULL);
    return NULL;
}

bool pin_is_on_heap(const void *data)
{
    return area_of(data) != NULL;
}

static unsigned mark_of(const mp_state_mem_area_t *area, size_t unit)
{
    return area->gc_alloc_table_start[unit / MARKS_PER_BYTE] >> 2 * (unit % MARKS_PER_BYTE) & 3;
}

/** Are this unit and those behind it tails, as many as a word has marks? */
static bool is_word_of_tails(const mp_state_mem_area_t *area, size_t unit)
{
    uint32_t word;
    memcpy(&word, area->gc_alloc_table_start + unit / MARKS_PER_BYTE, sizeof word);
    return unit % MARKS_PER_BYTE == 0 && word == WORD_OF_TAILS;
}

/** The head of the block that this unit is in, or one that is free: then it is in none. */
static size_t head_of(const mp_state_mem_area_t *area, size_t unit)
{
    for (;;) {
        if (unit >= MARKS_PER_WORD && is_word_of_tails(area, unit - MARKS_PER_WORD + 1)) {
            unit -= MARKS_PER_WORD;
        } else if (unit > 0 && mark_of(area, unit) == TAIL) {
            unit--;
        } else {
            return unit;
        }
    }
}

/** The first unit behind a block, from one of its units on. */
static size_t end_of(const mp_state_mem_area_t *area, size_t unit)
{
    size_t count = area->gc_alloc_table_byte_len * MARKS_PER_BYTE;
    for (unit++;;) {
        if (count - unit >= MARKS_PER_WORD && is_word_of_tails(area, unit)) {
            unit += MARKS_PER_WORD;
        } else if (unit < count && mark_of(area, unit) == TAIL) {
            unit++;
        } else {
            return unit;
        }
    }
}

void *pin_block_of(const void *data, size_t size, const char *what, size_t *room)
{
    const mp_state_mem_area_t *area = area_of(data);
    size_t unused;
    room = room == NULL ? &unused : room;
    *room = size;
    if (area == NULL || size == 0) {
        return (void *)(uintptr_t)data;
    }
    size_t offset = (size_t)((const uint8_t *)data - area->gc_pool_start);
    size_t head = head_of(area, offset / UNIT);
    *room = end_of(area, offset / UNIT) * UNIT - offset;
    if (mark_of(area, head) != HEAD || *room < size) {
        mp_raise_msg_varg(&mp_type_ValueError,
                          MP_ERROR_TEXT("%s at 0x%x, %d bytes, is no block of the heap: "
                                        "was its bytearray resized?"),
                          what, (unsigned)(uintptr_t)data, (int)size);
    }
    return area->gc_pool_start + head * UNIT;
}

void pin_add(struct pins *pins, void *const *block, size_t count, void (*lose)(struct pins *pins))
{
    *pins = (struct pins){all, block, count, lose};
    all = pins;
}

struct pins *pin_next(const struct pins *pins)
{
    return pins == NULL ? all : pins->next;
}

void pin_remove(struct pins *pins)
{
    for (struct pins **link = &all; *link != NULL; link = &(*link)->next) {
        if (*link == pins) {
            *link = pins->next;
            return;
        }
    }
}

void pin_lose(const void *start, size_t size)
{
    for (struct pins *pins = all; pins != NULL; pins = pins->next) {
        for (size_t i = 0; pins->lose != NULL && i < pins->count; i++) {
            if ((uintptr_t)pins->block[i] - (uintptr_t)start < size) {
                pins->lose(pins);
            }
        }
    }
}

void pin_remove_all(void)
{
    all = NULL;
}

static bool is_pinned(const void *block)
{
    for (const struct pins *pins = all; pins != NULL; pins = pins->next) {
        for (size_t i = 0; i < pins->count; i++) {
            if (pins->block[i] == block) {
                return true;
            }
        }
    }
    return false;
}

void __wrap_gc_free(void *block)
{
    if (all == NULL || !is_pinned(block)) {
        __real_gc_free(block);
    }
}

/** As gc_realloc() of a block that can't be freed: what is larger goes to a new one. */
static MP_NOINLINE void *copy_pinned(void *block, size_t size, bool may_move)
{
    size_t old = gc_nbytes(block);
    if (size == 0 || (size > old && !may_move)) {
        return NULL;
    }
    if (size <= old) {
        return block;
    }
    void *moved = gc_alloc(size, 0);
    return moved == NULL ? NULL : memcpy(moved, block, old);
}

void *__wrap_gc_realloc(void *block, size_t size, bool may_move)
{
    if (all == NULL || block == NULL || !is_pinned(block)) {
        return __real_gc_realloc(block, size, may_move);
    }
    return copy_pinned(block, size, may_move);
}
