// SPDX-License-Identifier: MIT
/**
 * Arithmetic on numbers that a file says. Nothing wraps around, whatever the width of the types:
 * each function tells whether the result fits.
 */
#ifndef CHECKED_H
#define CHECKED_H

#include <stdbool.h>
#include <stdint.h>

/** Store a + b, or a * b, as it is in mathematics; false: the type of *result cannot hold it. */
#define checked_add(a, b, result) (!__builtin_add_overflow((a), (b), (result)))
#define checked_mul(a, b, result) (!__builtin_mul_overflow((a), (b), (result)))

/** Round up to a multiple of a power of two; false: 32 bits cannot hold it. */
static inline bool checked_align(uint32_t value, uint32_t alignment, uint32_t *result)
{
    bool fits = checked_add(value, alignment - 1, result);
    *result &= ~(alignment - 1);
    return fits;
}

/** Are the `size` bytes from `start` on inside of the first `limit`? */
static inline bool checked_range(uint64_t start, uint64_t size, uint64_t limit)
{
    return size <= limit && start <= limit - size;
}

/** The same in 32 bits. */
static inline bool checked_inside(uint32_t start, uint32_t size, uint32_t limit)
{
    return size <= limit && start <= limit - size;
}

#endif
