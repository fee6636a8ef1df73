// SPDX-License-Identifier: MIT
/** The output stage with the 32-bit products of AVX2. */
#include "requant.h"

#include <string.h>

#include "clones.h"

#ifdef NPU_X86_KERNELS

#include <immintrin.h>

enum { VECTOR = 8 };

#define AVX2 __attribute__((target("avx2"), optimize("O3")))
#define INLINE __attribute__((always_inline)) static inline

AVX2 INLINE __m256i load(const void *from)
{
    return _mm256_loadu_si256(from);
}

/** Scale and round 8 channels, from channel first on. */
AVX2 INLINE __m256i scale(const struct npu_requant *requant, const struct npu_requant_brick *brick,
                          size_t first, const int32_t *values)
{
    const size_t pair = first / 2;
    __m256i sum = _mm256_add_epi32(load(values + first), load(brick->bias + first));
    __m256i high = _mm256_setzero_si256();
    if (requant->has_fraction) {
        __m256i even = _mm256_mul_epu32(sum, load(brick->fraction[0] + pair));
        __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(sum, 32), load(brick->fraction[1] + pair));
        even = _mm256_add_epi64(even, load(brick->offset[0] + pair));
        odd = _mm256_add_epi64(odd, load(brick->offset[1] + pair));
        high = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xAA);
    }
    if (requant->has_whole) {
        sum = _mm256_xor_si256(sum, _mm256_set1_epi32(INT32_MIN));
        high = _mm256_add_epi32(high, _mm256_mullo_epi32(sum, load(brick->whole + first)));
    }
    if (requant->has_second) {
        __m256i sign = _mm256_and_si256(_mm256_srai_epi32(high, 31), load(brick->second_sign + first));
        high = _mm256_add_epi32(high, _mm256_add_epi32(load(brick->second_half + first), sign));
        high = _mm256_srav_epi32(high, load(brick->second_shift + first));
    }
    return high;
}

AVX2 INLINE __m256i finish(const struct npu_output *output, __m256i value)
{
    value = _mm256_add_epi32(value, _mm256_set1_epi32((int32_t)output->zero_point));
    value = _mm256_max_epi32(value, _mm256_set1_epi32((int32_t)output->minimum));
    return _mm256_min_epi32(value, _mm256_set1_epi32((int32_t)output->maximum));
}

/** The same for 16 values, which become bytes; saturation to 16 bits does not reach the limits. */
AVX2 INLINE __m128i finish_bytes(const struct npu_output *output, __m256i low, __m256i high)
{
    __m256i value = _mm256_packs_epi32(low, high);
    value = _mm256_adds_epi16(value, _mm256_set1_epi16((int16_t)output->zero_point));
    value = _mm256_max_epi16(value, _mm256_set1_epi16((int16_t)output->minimum));
    value = _mm256_min_epi16(value, _mm256_set1_epi16((int16_t)output->maximum));
    value = _mm256_and_si256(value, _mm256_set1_epi16(0xFF));
    value = _mm256_packus_epi16(value, value);
    /* Channels 0 to 3 and 8 to 11 are in one half, the others in the other one. */
    return _mm_unpacklo_epi32(_mm256_castsi256_si128(value), _mm256_extracti128_si256(value, 1));
}

/** Store the first bytes of a vector. */
AVX2 INLINE void store_some(uint8_t *out, __m128i value, size_t count)
{
    if (count & 8) {
        _mm_storel_epi64((void *)out, value);
        value = _mm_unpackhi_epi64(value, value);
        out += 8;
    }
    uint64_t rest = (uint64_t)_mm_cvtsi128_si64(value);
    for (count &= 7; count > 0; count--, rest >>= 8) {
        *out++ = (uint8_t)rest;
    }
}

AVX2 void npu_scale_brick_avx2(const struct npu_requant *requant,
                               const struct npu_requant_brick *brick, size_t pixels,
                               int32_t *values, uint8_t *out, int64_t out_step, size_t channels)
{
    const struct npu_requant local = *requant;
    const struct npu_output output = *requant->output;
    for (size_t p = 0; p < pixels; p++, values += NPU_BRICK, out += out_step) {
        __m256i low = scale(&local, brick, 0, values);
        __m256i high = scale(&local, brick, VECTOR, values);
        if (out == NULL) {
            _mm256_storeu_si256((void *)values, finish(&output, low));
            _mm256_storeu_si256((void *)(values + VECTOR), finish(&output, high));
        } else if (channels == NPU_BRICK) {
            _mm_storeu_si128((void *)out, finish_bytes(&output, low, high));
        } else {
            store_some(out, finish_bytes(&output, low, high), channels);
        }
    }
}

#endif
