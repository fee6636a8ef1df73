// SPDX-License-Identifier: MIT
/**
 * Products of two rows, summed or individual. Operators with weights spend most of their time here.
 * With MVE (Helium), 16 or 4 products are computed at a time, with the same results.
 */
#ifndef DOT_H
#define DOT_H

#include <stdint.h>

#if defined(__ARM_FEATURE_MVE)
#include <arm_mve.h>

/** Sum of (value + offset) * weight, modulo 2^32. */
static inline int64_t dot_8(const int8_t *values, const int8_t *weights, int32_t count,
                            int32_t value_offset)
{
    int32_t products = 0;
    int32_t sum = 0;
    for (int32_t i = 0; i < count; i += 16) {
        mve_pred16_t rest = vctp8q((uint32_t)(count - i));
        int8x16_t weight = vldrbq_z_s8(weights + i, rest);
        products = vmladavaq_s8(products, vldrbq_z_s8(values + i, rest), weight);
        sum = vaddvaq_s8(sum, weight);
    }
    return (int32_t)((uint32_t)products + (uint32_t)sum * (uint32_t)value_offset);
}

/** Sum of value * weight. */
static inline int64_t dot_16(const int16_t *values, const int8_t *weights, int32_t count)
{
    int64_t sum = 0;
    for (int32_t i = 0; i < count; i += 8) {
        mve_pred16_t rest = vctp16q((uint32_t)(count - i));
        int16x8_t weight = vldrbq_z_s16(weights + i, rest);
        sum = vmlaldavaq_s16(sum, vldrhq_z_s16(values + i, rest), weight);
    }
    return sum;
}

/** Add (value + offset) * weight to each sum. */
static inline void add_products_8(int32_t *sums, const int8_t *values, const int8_t *weights,
                                  int32_t count, int32_t value_offset)
{
    for (int32_t i = 0; i < count; i += 4) {
        mve_pred16_t rest = vctp32q((uint32_t)(count - i));
        int32x4_t value = vaddq_n_s32(vldrbq_z_s32(values + i, rest), value_offset);
        int32x4_t product = vmulq_s32(value, vldrbq_z_s32(weights + i, rest));
        vstrwq_p_s32(sums + i, vaddq_s32(vldrwq_z_s32(sums + i, rest), product), rest);
    }
}

#else

static inline int64_t dot_8(const int8_t *values, const int8_t *weights, int32_t count,
                            int32_t value_offset)
{
    uint32_t sum = 0; // wraps around like the reference
    for (int32_t i = 0; i < count; i++) {
        sum += (uint32_t)((values[i] + value_offset) * weights[i]);
    }
    return (int32_t)sum;
}

static inline int64_t dot_16(const int16_t *values, const int8_t *weights, int32_t count)
{
    int64_t sum = 0;
    for (int32_t i = 0; i < count; i++) {
        sum += values[i] * weights[i];
    }
    return sum;
}

static inline void add_products_8(int32_t *sums, const int8_t *values, const int8_t *weights,
                                  int32_t count, int32_t value_offset)
{
    for (int32_t i = 0; i < count; i++) {
        sums[i] += (values[i] + value_offset) * weights[i];
    }
}

#endif

#endif
