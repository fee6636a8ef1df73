// SPDX-License-Identifier: MIT
/**
 * Counts the allocations on Python's heap, and lets some of them fail; linked into an image by
 * test_allocations.py. Python sets the numbers through machine.mem32.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A number of 0 is that of no allocation: counting begins with 1. */
struct allocations {
    uint32_t count;     /**< since Python set it to 0 */
    uint32_t first;     /**< the first that fails */
    uint32_t last;      /**< the last that fails */
    uint32_t interrupt; /**< Ctrl-C comes at this one */
};

/** Owned by the program. */
volatile struct allocations allocations;

void mp_sched_keyboard_interrupt(void);
_Noreturn void m_malloc_fail(size_t size);

static bool fails(void)
{
    uint32_t number = ++allocations.count;
    if (number == allocations.interrupt) {
        mp_sched_keyboard_interrupt();
    }
    return number >= allocations.first && number <= allocations.last;
}

// The wrapper that MicroPython calls, and the original function (--wrap).
void *__wrap_gc_alloc(size_t size, unsigned flags);
void *__real_gc_alloc(size_t size, unsigned flags);
void *__wrap_m_realloc(void *block, size_t size);
void *__real_m_realloc(void *block, size_t size);
void *__wrap_m_realloc_maybe(void *block, size_t size, bool may_move);
void *__real_m_realloc_maybe(void *block, size_t size, bool may_move);

void *__wrap_gc_alloc(size_t size, unsigned flags)
{
    return size != 0 && fails() ? NULL : __real_gc_alloc(size, flags);
}

/** A block that grows where it is calls no gc_alloc(). */
void *__wrap_m_realloc(void *block, size_t size)
{
    if (size != 0 && fails()) {
        m_malloc_fail(size);
    }
    return __real_m_realloc(block, size);
}

void *__wrap_m_realloc_maybe(void *block, size_t size, bool may_move)
{
    return size != 0 && fails() ? NULL : __real_m_realloc_maybe(block, size, may_move);
}

/** Nor does a large block of the module's, for which it looks itself. */
struct block {
    void *start;
    void *data;
    size_t size;
};
struct block __wrap_binding_allocate(size_t size, const char *what);
struct block __real_binding_allocate(size_t size, const char *what);

struct block __wrap_binding_allocate(size_t size, const char *what)
{
    if (fails()) {
        m_malloc_fail(size);
    }
    return __real_binding_allocate(size, what);
}
