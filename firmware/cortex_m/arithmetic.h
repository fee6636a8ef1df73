// SPDX-License-Identifier: MIT
/** 64-bit integers to floating point, rounded to nearest even, with conversions of 32 bits. */
#ifndef FIRMWARE_ARITHMETIC_H
#define FIRMWARE_ARITHMETIC_H

#include <stdint.h>

/** Both halves and the product are exact, so that only the sum rounds. */
static inline double unsigned_to_double(uint64_t value)
{
    return (double)(uint32_t)(value >> 32) * 0x1p32 + (double)(uint32_t)value;
}

static inline double signed_to_double(int64_t value)
{
    return (double)(int32_t)(value >> 32) * 0x1p32 + (double)(uint32_t)value;
}

/** 32 significant bits, the last of which also stands for those behind it, round as all do. */
static inline float unsigned_to_float(uint64_t value)
{
    float scale = 1;
    if (value >> 32 != 0) {
        int shift = 32 - __builtin_clz((uint32_t)(value >> 32));
        uint32_t behind = (uint32_t)value & (0xFFFFFFFFu >> (32 - shift));
        value = value >> shift | (behind != 0);
        scale = 2 * (float)(1u << (shift - 1));
    }
    return (float)(uint32_t)value * scale;
}

static inline float signed_to_float(int64_t value)
{
    return value < 0 ? -unsigned_to_float(-(uint64_t)value) : unsigned_to_float((uint64_t)value);
}

#endif
