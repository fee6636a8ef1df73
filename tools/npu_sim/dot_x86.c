// SPDX-License-Identifier: MIT
/**
 * npu_dot() with the pair products of AVX2 and AVX-512.
 *
 * One function per number of pixels, so that all sums stay in registers.
 */
#include "dot_x86.h"

#include <string.h>

#include "clones.h"

#ifdef NPU_X86_KERNELS

#include <immintrin.h>

/** Computes a fixed number of pixels, from start elements after pixel 0 of the runs on. */
typedef void block_t(const struct npu_dot_run *runs, uint32_t run_count, size_t start,
                     size_t pixel_step, const int16_t *weights, int32_t *sums);

static inline int load_pair(const int16_t *input)
{
    int pair;
    memcpy(&pair, input, sizeof pair);
    return pair;
}

#define AVX512_BLOCK(PIXELS)                                                                      \
    __attribute__((target("avx512f,avx512bw,avx512vnni"),                                         \
                   optimize("O3"))) static void avx512_##PIXELS(const struct npu_dot_run *runs,   \
                                                                uint32_t run_count, size_t start, \
                                                                size_t pixel_step,                \
                                                                const int16_t *weights,           \
                                                                int32_t *sums)                    \
    {                                                                                             \
        __m512i acc[PIXELS];                                                                      \
        for (int p = 0; p < PIXELS; p++) {                                                        \
            acc[p] = _mm512_setzero_si512();                                                      \
        }                                                                                         \
        for (uint32_t run = 0; run < run_count; run++) {                                          \
            const int16_t *input = runs[run].input + start;                                       \
            for (uint32_t pair = 0; pair < runs[run].pairs; pair++) {                             \
                __m512i weight = _mm512_loadu_si512(weights);                                     \
                _Pragma("GCC unroll 16") for (int p = 0; p < PIXELS; p++)                         \
                {                                                                                 \
                    int value = load_pair(input + (size_t)p * pixel_step);                        \
                    acc[p] = _mm512_dpwssd_epi32(acc[p], _mm512_set1_epi32(value), weight);       \
                }                                                                                 \
                input += NPU_DOT_PAIR;                                                            \
                weights += NPU_DOT_LANES * NPU_DOT_PAIR;                                          \
            }                                                                                     \
        }                                                                                         \
        for (int p = 0; p < PIXELS; p++) {                                                        \
            _mm512_storeu_si512(sums + p * NPU_DOT_LANES, acc[p]);                                \
        }                                                                                         \
    }

#define AVX2_BLOCK(PIXELS)                                                                        \
    __attribute__((target("avx2"), optimize("O3"))) static void avx2_##PIXELS(                    \
        const struct npu_dot_run *runs, uint32_t run_count, size_t start, size_t pixel_step,      \
        const int16_t *weights, int32_t *sums)                                                    \
    {                                                                                             \
        __m256i low[PIXELS], high[PIXELS];                                                        \
        for (int p = 0; p < PIXELS; p++) {                                                        \
            low[p] = high[p] = _mm256_setzero_si256();                                            \
        }                                                                                         \
        for (uint32_t run = 0; run < run_count; run++) {                                          \
            const int16_t *input = runs[run].input + start;                                       \
            for (uint32_t pair = 0; pair < runs[run].pairs; pair++) {                             \
                __m256i weight = _mm256_loadu_si256((const void *)weights);                       \
                __m256i weight2 = _mm256_loadu_si256((const void *)(weights + NPU_DOT_LANES));    \
                _Pragma("GCC unroll 16") for (int p = 0; p < PIXELS; p++)                         \
                {                                                                                 \
                    __m256i value = _mm256_set1_epi32(load_pair(input + (size_t)p * pixel_step)); \
                    low[p] = _mm256_add_epi32(low[p], _mm256_madd_epi16(value, weight));          \
                    high[p] = _mm256_add_epi32(high[p], _mm256_madd_epi16(value, weight2));       \
                }                                                                                 \
                input += NPU_DOT_PAIR;                                                            \
                weights += NPU_DOT_LANES * NPU_DOT_PAIR;                                          \
            }                                                                                     \
        }                                                                                         \
        for (int p = 0; p < PIXELS; p++) {                                                        \
            _mm256_storeu_si256((void *)(sums + p * NPU_DOT_LANES), low[p]);                      \
            _mm256_storeu_si256((void *)(sums + p * NPU_DOT_LANES + 8), high[p]);                 \
        }                                                                                         \
    }

AVX512_BLOCK(1)
AVX512_BLOCK(2)
AVX512_BLOCK(3)
AVX512_BLOCK(4)
AVX512_BLOCK(5)
AVX512_BLOCK(6)
AVX512_BLOCK(7)
AVX512_BLOCK(8)
AVX2_BLOCK(1)
AVX2_BLOCK(2)
AVX2_BLOCK(3)
AVX2_BLOCK(4)

/** Split the pixels into blocks of at most the largest size; blocks[n - 1] does
 * n pixels. */
static inline void run_blocks(block_t *const *blocks, uint32_t largest,
                              const struct npu_dot_run *runs, uint32_t run_count, size_t pixel_step,
                              const int16_t *weights, uint32_t pixels, int32_t *sums)
{
    for (uint32_t p = 0; p < pixels; p += largest) {
        uint32_t count = pixels - p < largest ? pixels - p : largest;
        blocks[count - 1](runs, run_count, p * pixel_step, pixel_step, weights,
                          sums + (size_t)p * NPU_DOT_LANES);
    }
}

bool npu_has_avx512(void)
{
    return !NPU_NO_AVX512 && __builtin_cpu_supports("avx512vnni") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
}

void npu_dot_avx512(const struct npu_dot_run *runs, uint32_t run_count, size_t pixel_step,
                    const int16_t *weights, uint32_t pixels, int32_t *sums)
{
    static block_t *const blocks[] = {avx512_1, avx512_2, avx512_3, avx512_4,
                                      avx512_5, avx512_6, avx512_7, avx512_8};
    run_blocks(blocks, 8, runs, run_count, pixel_step, weights, pixels, sums);
}

bool npu_has_avx2(void)
{
    return __builtin_cpu_supports("avx2");
}

void npu_dot_avx2(const struct npu_dot_run *runs, uint32_t run_count, size_t pixel_step,
                  const int16_t *weights, uint32_t pixels, int32_t *sums)
{
    static block_t *const blocks[] = {avx2_1, avx2_2, avx2_3, avx2_4};
    run_blocks(blocks, 4, runs, run_count, pixel_step, weights, pixels, sums);
}

#endif
