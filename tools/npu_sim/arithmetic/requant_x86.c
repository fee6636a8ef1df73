// SPDX-License-Identifier: MIT
/** The output stage with the 32-bit products of AVX2 and AVX-512. */
#include "arithmetic/requant.h"

#include <string.h>

#include "core/clones.h"

#ifdef NPU_X86_KERNELS

#include <immintrin.h>

enum { VECTOR = 8 };

AVX2 INLINE __m256i load(const void *from)
{
    return _mm256_loadu_si256(from);
}

/** Scale and round 8 channels of two pixels, from channel first on. */
AVX2 INLINE void scale(const struct npu_requant *requant, const struct npu_requant_brick *brick,
                       size_t first, const int32_t *one, const int32_t *other, __m256i high[2])
{
    const size_t pair = first / 2;
    const __m256i bias = load(brick->bias + first);
    __m256i sum[2] = {_mm256_add_epi32(load(one + first), bias),
                      _mm256_add_epi32(load(other + first), bias)};
    high[0] = high[1] = _mm256_setzero_si256();
    if (requant->parts.fraction) {
        const __m256i even_fraction = load(brick->fraction[0] + pair);
        const __m256i odd_fraction = load(brick->fraction[1] + pair);
        const __m256i even_offset = load(brick->offset[0] + pair);
        const __m256i odd_offset = load(brick->offset[1] + pair);
        EACH_PIXEL(2)
        {
            __m256i even = _mm256_mul_epu32(sum[p], even_fraction);
            __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(sum[p], 32), odd_fraction);
            even = _mm256_srli_epi64(_mm256_add_epi64(even, even_offset), 32);
            odd = _mm256_add_epi64(odd, odd_offset);
            high[p] = _mm256_blend_epi32(even, odd, 0xAA);
        }
    }
    if (requant->parts.whole) {
        const __m256i whole = load(brick->whole + first);
        EACH_PIXEL(2)
        {
            __m256i value = _mm256_xor_si256(sum[p], _mm256_set1_epi32(INT32_MIN));
            high[p] = _mm256_add_epi32(high[p], _mm256_mullo_epi32(value, whole));
        }
    }
    if (requant->parts.second) {
        const __m256i half = load(brick->second_half + first);
        const __m256i second_sign = load(brick->second_sign + first);
        const __m256i shift = load(brick->second_shift + first);
        EACH_PIXEL(2)
        {
            __m256i sign = _mm256_and_si256(_mm256_srai_epi32(high[p], 31), second_sign);
            high[p] = _mm256_add_epi32(high[p], _mm256_add_epi32(half, sign));
            high[p] = _mm256_srav_epi32(high[p], shift);
        }
    }
}

AVX2 INLINE __m256i finish(const struct npu_requant *requant, __m256i value)
{
    value = _mm256_add_epi32(value, _mm256_set1_epi32(requant->zero_point));
    value = _mm256_max_epi32(value, _mm256_set1_epi32(requant->minimum));
    return _mm256_min_epi32(value, _mm256_set1_epi32(requant->maximum));
}

/** The same for 16 values, which become bytes; saturation to 16 bits does not reach the limits. */
AVX2 INLINE __m128i finish_bytes(const struct npu_requant *requant, __m256i low, __m256i high)
{
    __m256i value = _mm256_packs_epi32(low, high);
    value = _mm256_adds_epi16(value, _mm256_set1_epi16((int16_t)requant->zero_point));
    value = _mm256_max_epi16(value, _mm256_set1_epi16((int16_t)requant->minimum));
    value = _mm256_min_epi16(value, _mm256_set1_epi16((int16_t)requant->maximum));
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

/** Where the bytes of a brick go. */
struct target {
    uint8_t *out; /**< of the current pixel; NULL: results stay in place */
    int64_t step;
    size_t channels;
};

AVX2 INLINE void store(const struct npu_requant *requant, struct target *target, int32_t *values,
                       __m256i low, __m256i high)
{
    if (target->out == NULL) {
        _mm256_storeu_si256((void *)values, finish(requant, low));
        _mm256_storeu_si256((void *)(values + VECTOR), finish(requant, high));
        return;
    }
    __m128i bytes = finish_bytes(requant, low, high);
    if (target->channels == NPU_BRICK) {
        _mm_storeu_si128((void *)target->out, bytes);
    } else {
        store_some(target->out, bytes, target->channels);
    }
    target->out += target->step;
}

AVX2 void npu_scale_brick_avx2(const struct npu_requant *requant,
                               const struct npu_requant_brick *brick, size_t pixels,
                               int32_t *values, uint8_t *out, int64_t out_step, size_t channels)
{
    const struct npu_requant local = *requant;
    struct target target = {out, out_step, channels};
    /* Two pixels share the loads of the brick's values. */
    for (; pixels >= 2; pixels -= 2, values += 2 * NPU_BRICK) {
        __m256i low[2], high[2];
        scale(&local, brick, 0, values, values + NPU_BRICK, low);
        scale(&local, brick, VECTOR, values, values + NPU_BRICK, high);
        store(&local, &target, values, low[0], high[0]);
        store(&local, &target, values + NPU_BRICK, low[1], high[1]);
    }
    if (pixels > 0) {
        __m256i low[2], high[2];
        scale(&local, brick, 0, values, values, low);
        scale(&local, brick, VECTOR, values, values, high);
        store(&local, &target, values, low[0], high[0]);
    }
}

/** Clamp 16 values, and make them bytes; to limits that are bytes, they are clamped as bytes. */
AVX512 INLINE __m128i clamp_bytes(const struct npu_requant *requant, bool limits, __m512i value)
{
    if (limits) {
        __m128i bytes = _mm512_cvtsepi32_epi8(value);
        bytes = _mm_max_epi8(bytes, _mm_set1_epi8((char)requant->minimum));
        return _mm_min_epi8(bytes, _mm_set1_epi8((char)requant->maximum));
    }
    value = _mm512_max_epi32(value, _mm512_set1_epi32(requant->minimum));
    return _mm512_cvtepi32_epi8(_mm512_min_epi32(value, _mm512_set1_epi32(requant->maximum)));
}

/** npu_scale_brick_avx512() for scales with these parts. */
AVX512 INLINE void scale_parts(const struct npu_requant requant,
                               const struct npu_requant_brick *brick, size_t pixels,
                               int32_t *values, uint8_t *out, int64_t out_step, size_t channels,
                               const struct npu_requant_parts parts)
{
    const __m512i bias = _mm512_loadu_si512(brick->bias);
    const __m512i whole = _mm512_loadu_si512(brick->whole);
    const __m512i even_fraction = _mm512_loadu_si512(brick->fraction[0]);
    const __m512i odd_fraction = _mm512_loadu_si512(brick->fraction[1]);
    const __m512i shift = _mm512_loadu_si512(brick->second_shift);
    const __m512i zero_point = _mm512_set1_epi32(requant.zero_point);
    const __m512i one = _mm512_set1_epi32(1);
    const __m512i second_sign = _mm512_loadu_si512(brick->second_sign);
    const __mmask16 rounded = _mm512_test_epi32_mask(second_sign, second_sign);
    /* The products' offsets also add what the second step needs: half, and the zero point. */
    __m512i added = _mm512_loadu_si512(brick->second_half);
    if (!parts.apart) {
        added = _mm512_add_epi32(added, _mm512_sllv_epi32(zero_point, shift));
    }
    const __m512i even_offset =
        _mm512_add_epi64(_mm512_loadu_si512(brick->offset[0]), _mm512_slli_epi64(added, 32));
    const __m512i odd_offset = _mm512_add_epi64(_mm512_loadu_si512(brick->offset[1]),
                                                _mm512_maskz_mov_epi32(0xAAAA, added));
    const __mmask16 stored = (__mmask16)((1u << channels) - 1);
    const bool limits = requant.minimum >= INT8_MIN && requant.maximum <= INT8_MAX;
    for (size_t p = 0; p < pixels; p++, values += NPU_BRICK) {
        __m512i sum = _mm512_add_epi32(_mm512_loadu_si512(values), bias);
        __m512i high = added;
        if (parts.fraction) {
            __m512i even = _mm512_mul_epu32(sum, even_fraction);
            __m512i odd = _mm512_mul_epu32(_mm512_srli_epi64(sum, 32), odd_fraction);
            even = _mm512_add_epi64(even, even_offset);
            odd = _mm512_add_epi64(odd, odd_offset);
            /* The upper half of each even product moves to its channel. */
            high = _mm512_mask_shuffle_epi32(odd, 0x5555, even, _MM_PERM_DDBB);
        }
        if (parts.whole) {
            sum = _mm512_xor_si512(sum, _mm512_set1_epi32(INT32_MIN));
            high = _mm512_add_epi32(high, _mm512_mullo_epi32(sum, whole));
        }
        if (parts.second) {
            __mmask16 negative = _mm512_mask_cmplt_epi32_mask(rounded, high, added);
            high = _mm512_mask_sub_epi32(high, negative, high, one);
            high = _mm512_srav_epi32(high, shift);
        }
        if (parts.apart) {
            high = _mm512_add_epi32(high, zero_point);
        }
        if (out == NULL) {
            high = _mm512_max_epi32(high, _mm512_set1_epi32(requant.minimum));
            high = _mm512_min_epi32(high, _mm512_set1_epi32(requant.maximum));
            _mm512_storeu_si512(values, high);
            continue;
        }
        __m128i bytes = clamp_bytes(&requant, limits, high);
        if (channels == NPU_BRICK) {
            _mm_storeu_si128((void *)out, bytes);
        } else {
            _mm_mask_storeu_epi8(out, stored, bytes);
        }
        out += out_step;
    }
}

AVX512 void npu_scale_brick_avx512(const struct npu_requant *requant,
                                   const struct npu_requant_brick *brick, size_t pixels,
                                   int32_t *values, uint8_t *out, int64_t out_step, size_t channels)
{
    /* Those of most networks get loops of their own. */
    const struct npu_requant_parts parts = requant->parts;
    if (parts.fraction && !parts.whole && !parts.apart) {
        if (parts.second) {
            scale_parts(*requant, brick, pixels, values, out, out_step, channels,
                        (struct npu_requant_parts){.fraction = true, .second = true});
        } else {
            scale_parts(*requant, brick, pixels, values, out, out_step, channels,
                        (struct npu_requant_parts){.fraction = true});
        }
    } else {
        scale_parts(*requant, brick, pixels, values, out, out_step, channels, parts);
    }
}

#endif
