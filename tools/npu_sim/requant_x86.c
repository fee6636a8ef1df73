// SPDX-License-Identifier: MIT
/** The output stage with the 32-bit products of AVX2. */
#include "requant.h"

#include "clones.h"

#ifdef NPU_X86_KERNELS

#include <immintrin.h>

enum { VECTOR = 8 };

#define AVX2 __attribute__((target("avx2"), optimize("O3")))

AVX2 static inline __m256i load(const void *from)
{
    return _mm256_loadu_si256(from);
}

/** One vector of channels of all pixels; half: half of the brick. */
AVX2 static void scale_half(const struct npu_requant_brick *brick, const struct npu_output *output,
                            size_t half, size_t pixels, int32_t *values)
{
    const size_t first = half * VECTOR;
    const size_t pair = first / 2;
    const __m256i bias = load(brick->bias + first);
    const __m256i even_multiplier = load(brick->multiplier[0] + pair);
    const __m256i odd_multiplier = load(brick->multiplier[1] + pair);
    const __m256i even_offset = load(brick->offset[0] + pair);
    const __m256i odd_offset = load(brick->offset[1] + pair);
    const __m256i even_shift = load(brick->shift[0] + pair);
    const __m256i odd_shift = load(brick->shift[1] + pair);
    const __m256i excess = load(brick->excess + first);
    const __m256i second_half = load(brick->second_half + first);
    const __m256i second_sign = load(brick->second_sign + first);
    const __m256i second_shift = load(brick->second_shift + first);
    const __m256i zero_point = _mm256_set1_epi32((int32_t)output->zero_point);
    const __m256i minimum = _mm256_set1_epi32((int32_t)output->minimum);
    const __m256i maximum = _mm256_set1_epi32((int32_t)output->maximum);
    for (size_t p = 0; p < pixels; p++, values += NPU_BRICK) {
        __m256i sum = _mm256_add_epi32(load(values), bias);
        __m256i even = _mm256_mul_epi32(sum, even_multiplier);
        __m256i odd = _mm256_mul_epi32(_mm256_srli_epi64(sum, 32), odd_multiplier);
        even = _mm256_srlv_epi64(_mm256_add_epi64(even, even_offset), even_shift);
        odd = _mm256_srlv_epi64(_mm256_add_epi64(odd, odd_offset), odd_shift);
        __m256i high = _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xAA);
        high = _mm256_sub_epi32(high, excess);
        __m256i sign = _mm256_and_si256(_mm256_srai_epi32(high, 31), second_sign);
        high = _mm256_add_epi32(high, _mm256_add_epi32(second_half, sign));
        __m256i value = _mm256_add_epi32(_mm256_srav_epi32(high, second_shift), zero_point);
        value = _mm256_min_epi32(_mm256_max_epi32(value, minimum), maximum);
        _mm256_storeu_si256((void *)values, value);
    }
}

AVX2 void npu_scale_brick_avx2(const struct npu_requant_brick *brick,
                               const struct npu_output *output, size_t pixels, int32_t *values)
{
    scale_half(brick, output, 0, pixels, values);
    scale_half(brick, output, 1, pixels, values + VECTOR);
}

#endif
