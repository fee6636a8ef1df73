// SPDX-License-Identifier: MIT
/** npu_dot() with the pair products of AVX2 and AVX-512. */
#include "dot_x86.h"

#include <stdbool.h>
#include <string.h>

#include "clones.h"

#ifdef NPU_X86_KERNELS

#include <immintrin.h>

/** One kernel: P pixels from start on. */
typedef void (*kernel_t)(const struct npu_dot_run *runs, uint32_t run_count, size_t start,
                         size_t pixel_step, const int16_t *weights, int32_t *sums,
                         size_t sum_step);

static inline int load_pair(const int16_t *input)
{
    int pair;
    memcpy(&pair, input, sizeof pair);
    return pair;
}

#define AVX512_KERNEL(name, PIXELS)                                                              \
    __attribute__((target("avx512f,avx512bw,avx512vnni"), optimize("O3"))) static void name(     \
        const struct npu_dot_run *runs, uint32_t run_count, size_t start, size_t pixel_step,     \
        const int16_t *weights, int32_t *sums, size_t sum_step)                                  \
    {                                                                                            \
        __m512i acc[PIXELS];                                                                     \
        for (int p = 0; p < PIXELS; p++) {                                                       \
            acc[p] = _mm512_setzero_si512();                                                     \
        }                                                                                        \
        for (uint32_t run = 0; run < run_count; run++) {                                         \
            const int16_t *input = runs[run].input + start;                                      \
            for (uint32_t pair = 0; pair < runs[run].pairs; pair++) {                            \
                __m512i weight = _mm512_loadu_si512(weights);                                    \
                _Pragma("GCC unroll 16") for (int p = 0; p < PIXELS; p++)                        \
                {                                                                                \
                    __m512i value = _mm512_set1_epi32(load_pair(input + (size_t)p * pixel_step)); \
                    acc[p] = _mm512_dpwssd_epi32(acc[p], value, weight);                         \
                }                                                                                \
                input += NPU_DOT_PAIR;                                                           \
                weights += NPU_DOT_LANES * NPU_DOT_PAIR;                                         \
            }                                                                                    \
        }                                                                                        \
        for (int p = 0; p < PIXELS; p++) {                                                       \
            _mm512_storeu_si512(sums + (size_t)p * sum_step, acc[p]);                            \
        }                                                                                        \
    }

#define AVX2_KERNEL(name, PIXELS)                                                                \
    __attribute__((target("avx2"), optimize("O3"))) static void name(                            \
        const struct npu_dot_run *runs, uint32_t run_count, size_t start, size_t pixel_step,     \
        const int16_t *weights, int32_t *sums, size_t sum_step)                                  \
    {                                                                                            \
        __m256i low[PIXELS], high[PIXELS];                                                       \
        for (int p = 0; p < PIXELS; p++) {                                                       \
            low[p] = high[p] = _mm256_setzero_si256();                                           \
        }                                                                                        \
        for (uint32_t run = 0; run < run_count; run++) {                                         \
            const int16_t *input = runs[run].input + start;                                      \
            for (uint32_t pair = 0; pair < runs[run].pairs; pair++) {                            \
                __m256i weight = _mm256_loadu_si256((const void *)weights);                      \
                __m256i weight2 = _mm256_loadu_si256((const void *)(weights + NPU_DOT_LANES));   \
                _Pragma("GCC unroll 16") for (int p = 0; p < PIXELS; p++)                        \
                {                                                                                \
                    __m256i value = _mm256_set1_epi32(load_pair(input + (size_t)p * pixel_step)); \
                    low[p] = _mm256_add_epi32(low[p], _mm256_madd_epi16(value, weight));         \
                    high[p] = _mm256_add_epi32(high[p], _mm256_madd_epi16(value, weight2));      \
                }                                                                                \
                input += NPU_DOT_PAIR;                                                           \
                weights += NPU_DOT_LANES * NPU_DOT_PAIR;                                         \
            }                                                                                    \
        }                                                                                        \
        for (int p = 0; p < PIXELS; p++) {                                                       \
            _mm256_storeu_si256((void *)(sums + (size_t)p * sum_step), low[p]);                  \
            _mm256_storeu_si256((void *)(sums + (size_t)p * sum_step + 8), high[p]);             \
        }                                                                                        \
    }

AVX512_KERNEL(avx512_many, 8)
AVX512_KERNEL(avx512_some, 3)
AVX512_KERNEL(avx512_one, 1)
AVX2_KERNEL(avx2_many, 4)
AVX2_KERNEL(avx2_some, 3)
AVX2_KERNEL(avx2_one, 1)

uint32_t npu_dot_x86(const struct npu_dot_run *runs, uint32_t run_count, size_t pixel_step,
                     const int16_t *weights, uint32_t pixels, int32_t *sums, size_t sum_step)
{
    bool wide = __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw");
    if (!wide && !__builtin_cpu_supports("avx2")) {
        return 0;
    }
    static const struct {
        uint32_t pixels;
        kernel_t wide, narrow;
    } kernels[] = {
        {8, avx512_many, NULL}, {4, NULL, avx2_many}, {3, avx512_some, avx2_some},
        {1, avx512_one, avx2_one},
    };
    uint32_t p = 0;
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        kernel_t kernel = wide ? kernels[i].wide : kernels[i].narrow;
        for (; kernel != NULL && p + kernels[i].pixels <= pixels; p += kernels[i].pixels) {
            kernel(runs, run_count, p * pixel_step, pixel_step, weights, sums + p * sum_step,
                   sum_step);
        }
    }
    return p;
}

#else

uint32_t npu_dot_x86(const struct npu_dot_run *runs, uint32_t run_count, size_t pixel_step,
                     const int16_t *weights, uint32_t pixels, int32_t *sums, size_t sum_step)
{
    (void)runs;
    (void)run_count;
    (void)pixel_step;
    (void)weights;
    (void)pixels;
    (void)sums;
    (void)sum_step;
    return 0;
}

#endif
