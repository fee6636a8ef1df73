// SPDX-License-Identifier: MIT
/**
 * TensorFlow Lite's fixed-point arithmetic, bit-exact with its reference kernels
 * (common.h, and gemmlowp's fixedpoint.h).
 */
#ifndef FIXED_H
#define FIXED_H

#include <stdint.h>

/** A real factor as multiplier * 2^(shift - 31). */
struct rescale {
    int32_t multiplier;
    int32_t shift; /**< -31 to 30; positive: to the left */
};

static inline int32_t fixed_min(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static inline int32_t fixed_max(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

static inline int32_t fixed_clamp(int32_t value, int32_t low, int32_t high)
{
    return fixed_min(fixed_max(value, low), high);
}

/** a * b / 2^31, rounded to nearest, halves upwards; the only overflow case saturates. */
static inline int32_t fixed_high_mul(int32_t a, int32_t b)
{
    if (a == INT32_MIN && b == INT32_MIN) {
        return INT32_MAX;
    }
    return (int32_t)(((int64_t)a * b + ((int64_t)1 << 30)) >> 31);
}

/** value / 2^exponent, rounded to nearest, halves away from zero; exponent 0 to 31. */
static inline int32_t fixed_divide_pot(int32_t value, int32_t exponent)
{
    int32_t mask = (int32_t)(((uint32_t)1 << exponent) - 1u);
    int32_t threshold = (mask >> 1) + (value < 0);
    return (value >> exponent) + ((value & mask) > threshold);
}

/** The sum, wrapped around. */
static inline int32_t fixed_add(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a + (uint32_t)b);
}

/** Shift to the left; bits beyond 32 are lost. */
static inline int32_t fixed_shift_left(int32_t value, int32_t shift)
{
    return (int32_t)((uint32_t)value << shift);
}

/** value times a real factor, rounded twice. */
static inline int32_t fixed_rescale(int32_t value, struct rescale factor)
{
    int32_t left = fixed_max(factor.shift, 0);
    int32_t right = fixed_max(-factor.shift, 0);
    return fixed_divide_pot(fixed_high_mul(fixed_shift_left(value, left), factor.multiplier),
                            right);
}

/** The same for 64-bit sums of 16-bit operators: a 16-bit multiplier, rounded once. */
static inline int32_t fixed_rescale_64(int64_t value, struct rescale factor)
{
    int32_t reduced =
        factor.multiplier < 0x7FFF0000 ? (factor.multiplier + (1 << 15)) >> 16 : 0x7FFF;
    int32_t shift = 15 - factor.shift;
    uint64_t nudge = (uint64_t)1 << (shift - 1);
    return (int32_t)((int64_t)((uint64_t)value * (uint64_t)reduced + nudge) >> shift);
}

/** Saturating value * 2^exponent; exponent 0 to 31. */
static inline int32_t fixed_saturating_shift(int32_t value, int32_t exponent)
{
    int64_t shifted = (int64_t)value * ((int64_t)1 << exponent);
    return shifted > INT32_MAX ? INT32_MAX : shifted < INT32_MIN ? INT32_MIN : (int32_t)shifted;
}

#endif
