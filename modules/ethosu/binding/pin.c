// SPDX-License-Identifier: MIT
/** Blocks of the heap that stay where they are; see pin.h. */
#include "pin.h"

#include <string.h>

#include "py/gc.h"
#include "py/mpstate.h"
#include "py/runtime.h"

/** The collector knows blocks by addresses that are multiples of this. */
#define BLOCK_ALIGNMENT ((uintptr_t)MICROPY_BYTES_PER_GC_BLOCK)

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

void *pin_block_of(const void *data, size_t size, const char *what, size_t *room)
{
    const mp_state_mem_area_t *area = area_of(data);
    size_t unused;
    room = room == NULL ? &unused : room;
    *room = size;
    if (area == NULL || size == 0) {
        return (void *)(uintptr_t)data;
    }
    uintptr_t at = (uintptr_t)data & ~(BLOCK_ALIGNMENT - 1);
    size_t bytes;
    while ((bytes = gc_nbytes((void *)at)) == 0 && at > (uintptr_t)area->gc_pool_start) {
        at -= BLOCK_ALIGNMENT;
    }
    *room = bytes - ((uintptr_t)data - at);
    if (bytes < (uintptr_t)data - at + size) {
        mp_raise_msg_varg(&mp_type_ValueError,
                          MP_ERROR_TEXT("%s at 0x%x, %d bytes, is no block of the heap: "
                                        "was its bytearray resized?"),
                          what, (unsigned)(uintptr_t)data, (int)size);
    }
    return (void *)at;
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
