// SPDX-License-Identifier: MIT
/**
 * Arithmetic on numbers from files. Nothing wraps around, regardless of the width of the types;
 * each function returns whether the result fits.
 */
#ifndef CHECKED_H
#define CHECKED_H

#include <stdbool.h>
#include <stdint.h>

/** Store the exact a + b, a - b or a * b; false if it does not fit the type of *result. */
#define checked_add(a, b, result) (!__builtin_add_overflow((a), (b), (result)))
#define checked_sub(a, b, result) (!__builtin_sub_overflow((a), (b), (result)))
#define checked_mul(a, b, result) (!__builtin_mul_overflow((a), (b), (result)))

/** Round up to a multiple of a power of two; false if it exceeds 32 bits. */
static inline bool checked_align(uint32_t value, uint32_t alignment, uint32_t *result)
{
    bool fits = checked_add(value, alignment - 1, result);
    *result &= ~(alignment - 1);
    return fits;
}

/** Are the `size` bytes from `start` on within the first `limit`? */
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
