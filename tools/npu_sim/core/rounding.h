// SPDX-License-Identifier: MIT
/**
 * Exact scaling and rounding, as specified by command streams.
 *
 * A scale is an unsigned 32-bit multiplier and a right shift of 0..63.
 */
#ifndef NPU_ROUNDING_H
#define NPU_ROUNDING_H

#include <stdint.h>

__extension__ typedef __int128 npu_int128;

/** Rounding modes; the values of the round_mode fields differ between families. */
enum npu_rounding {
    NPU_ROUND_DOUBLE,            /**< TFLite: natural at bit 31, then half away from zero */
    NPU_ROUND_TRUNCATE,          /**< toward zero */
    NPU_ROUND_NATURAL,           /**< half toward plus infinity */
    NPU_ROUND_DOUBLE_ASYMMETRIC, /**< natural at bit 31, then natural again */
    NPU_ROUND_AWAY,              /**< half away from zero */
    NPU_ROUND_DOWN,              /**< toward minus infinity */
};

struct npu_scale {
    uint32_t multiplier;
    uint8_t shift;
};

static inline int64_t npu_clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

static inline int64_t npu_saturate64(npu_int128 value)
{
    return value < INT64_MIN ? INT64_MIN : value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

/** Sign-extend the low bits of value; 1 <= bits <= 64. */
static inline int64_t npu_sign_extend(uint64_t value, unsigned bits)
{
    uint64_t sign = (uint64_t)1 << (bits - 1);
    uint64_t mask = sign | (sign - 1);
    return (int64_t)(((value & mask) ^ sign) - sign);
}

static inline npu_int128 npu_round_natural(npu_int128 product, unsigned shift)
{
    npu_int128 half = shift > 0 ? (npu_int128)1 << (shift - 1) : 0;
    return (product + half) >> shift;
}

/** Second step of TFLite's rounding: right shift, half away from zero. */
static inline npu_int128 npu_round_away(npu_int128 value, unsigned shift)
{
    npu_int128 mask = ((npu_int128)1 << shift) - 1;
    npu_int128 threshold = (mask >> 1) + (value < 0);
    return (value >> shift) + ((value & mask) > threshold);
}

/** value * multiplier / 2^shift in the given mode, saturated to 64 bits. */
static inline int64_t npu_round_scale(int64_t value, struct npu_scale scale, enum npu_rounding mode)
{
    npu_int128 product = (npu_int128)value * scale.multiplier;
    unsigned shift = scale.shift;
    unsigned rest = shift > 31 ? shift - 31 : 0; /* of the second step of double rounding */
    switch (mode) {
    case NPU_ROUND_TRUNCATE:
        return npu_saturate64(product >= 0 ? product >> shift : -(-product >> shift));
    case NPU_ROUND_AWAY:
        return npu_saturate64(npu_round_away(product, shift));
    case NPU_ROUND_DOWN:
        return npu_saturate64(product >> shift);
    case NPU_ROUND_DOUBLE:
        return npu_saturate64(npu_round_away(npu_round_natural(product, shift - rest), rest));
    case NPU_ROUND_DOUBLE_ASYMMETRIC:
        return npu_saturate64(npu_round_natural(npu_round_natural(product, shift - rest), rest));
    default:
        return npu_saturate64(npu_round_natural(product, shift));
    }
}

#endif
