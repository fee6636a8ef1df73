// SPDX-License-Identifier: MIT
/**
 * npu_dot() with the pair products of AVX2 and AVX-512, npu_dot_depthwise() with those of AVX2.
 *
 * One function per number of pixels, so that all sums stay in registers.
 */
#include "arithmetic/dot_x86.h"

#include <string.h>

#include "core/clones.h"

#ifdef NPU_X86_KERNELS

#include <immintrin.h>

enum { PAIRS_MAX = 16 /**< of taps, whose weights are interleaved at once */ };

/** Computes a fixed number of pixels, from start elements after pixel 0 of the runs on. */
typedef void block_t(const struct npu_dot_run *runs, uint32_t run_count, size_t start,
                     size_t pixel_step, const int16_t *weights, int32_t *sums);

static inline int load_pair(const int16_t *input)
{
    int pair;
    memcpy(&pair, input, sizeof pair);
    return pair;
}

static inline int load_quad(const uint8_t *input)
{
    int quad;
    memcpy(&quad, input, sizeof quad);
    return quad;
}

#define AVX512_BLOCK(PIXELS)                                                                    \
    AVX512 static void avx512_##PIXELS(const struct npu_dot_run *runs, uint32_t run_count,      \
                                       size_t start, size_t pixel_step, const int16_t *weights, \
                                       int32_t *sums)                                           \
    {                                                                                           \
        __m512i acc[PIXELS];                                                                    \
        EACH_PIXEL(PIXELS)                                                                      \
        {                                                                                       \
            acc[p] = _mm512_setzero_si512();                                                    \
        }                                                                                       \
        for (uint32_t run = 0; run < run_count; run++) {                                        \
            const int16_t *input = runs[run].input + start;                                     \
            for (uint32_t pair = 0; pair < runs[run].pairs; pair++) {                           \
                __m512i weight = _mm512_loadu_si512(weights);                                   \
                EACH_PIXEL(PIXELS)                                                              \
                {                                                                               \
                    int value = load_pair(input + (size_t)p * pixel_step);                      \
                    acc[p] = _mm512_dpwssd_epi32(acc[p], _mm512_set1_epi32(value), weight);     \
                }                                                                               \
                input += NPU_DOT_PAIR;                                                          \
                weights += NPU_DOT_LANES * NPU_DOT_PAIR;                                        \
            }                                                                                   \
        }                                                                                       \
        EACH_PIXEL(PIXELS)                                                                      \
        {                                                                                       \
            _mm512_storeu_si512(sums + p * NPU_DOT_LANES, acc[p]);                              \
        }                                                                                       \
    }

#define AVX2_BLOCK(PIXELS)                                                                        \
    AVX2 static void avx2_##PIXELS(const struct npu_dot_run *runs, uint32_t run_count,            \
                                   size_t start, size_t pixel_step, const int16_t *weights,       \
                                   int32_t *sums)                                                 \
    {                                                                                             \
        __m256i low[PIXELS], high[PIXELS];                                                        \
        EACH_PIXEL(PIXELS)                                                                        \
        {                                                                                         \
            low[p] = high[p] = _mm256_setzero_si256();                                            \
        }                                                                                         \
        for (uint32_t run = 0; run < run_count; run++) {                                          \
            const int16_t *input = runs[run].input + start;                                       \
            for (uint32_t pair = 0; pair < runs[run].pairs; pair++) {                             \
                __m256i weight = _mm256_loadu_si256((const void *)weights);                       \
                __m256i weight2 = _mm256_loadu_si256((const void *)(weights + NPU_DOT_LANES));    \
                EACH_PIXEL(PIXELS)                                                                \
                {                                                                                 \
                    __m256i value = _mm256_set1_epi32(load_pair(input + (size_t)p * pixel_step)); \
                    low[p] = _mm256_add_epi32(low[p], _mm256_madd_epi16(value, weight));          \
                    high[p] = _mm256_add_epi32(high[p], _mm256_madd_epi16(value, weight2));       \
                }                                                                                 \
                input += NPU_DOT_PAIR;                                                            \
                weights += NPU_DOT_LANES * NPU_DOT_PAIR;                                          \
            }                                                                                     \
        }                                                                                         \
        EACH_PIXEL(PIXELS)                                                                        \
        {                                                                                         \
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
AVX2_BLOCK(5)
AVX2_BLOCK(6)

/**
 * Split the pixels into blocks of about equal size, at most the largest one, since small blocks
 * load the weights for few pixels. blocks[n - 1] does n pixels.
 */
static inline void run_blocks(block_t *const *blocks, uint32_t largest,
                              const struct npu_dot_run *runs, uint32_t run_count, size_t pixel_step,
                              const int16_t *weights, uint32_t pixels, int32_t *sums)
{
    uint32_t left = (pixels + largest - 1) / largest;
    for (uint32_t p = 0; p < pixels; left--) {
        uint32_t count = (pixels - p) / left;
        blocks[count - 1](runs, run_count, p * pixel_step, pixel_step, weights,
                          sums + (size_t)p * NPU_DOT_LANES);
        p += count;
    }
}

bool npu_has_avx512(void)
{
    return !NPU_NO_AVX512 && __builtin_cpu_supports("avx512vnni") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}

void npu_dot_avx512(const struct npu_dot_run *runs, uint32_t run_count, size_t pixel_step,
                    const int16_t *weights, uint32_t pixels, int32_t *sums)
{
    static block_t *const blocks[] = {avx512_1, avx512_2, avx512_3, avx512_4,
                                      avx512_5, avx512_6, avx512_7, avx512_8};
    run_blocks(blocks, 8, runs, run_count, pixel_step, weights, pixels, sums);
}

/** Computes some pixels of some bricks, from start bytes after pixel 0 of the runs on. */
typedef void quads_t(const struct npu_dot_quads_run *runs, uint32_t run_count, size_t start,
                     size_t pixel_step, const int8_t *weights, size_t brick_bytes, int32_t *sums,
                     size_t brick_sums);

#define EACH_BRICK(BRICKS) _Pragma("GCC unroll 4") for (int b = 0; b < (BRICKS); b++)

#define QUADS_BLOCK(PIXELS, BRICKS)                                                                \
    AVX512 static void quads_##PIXELS##_##BRICKS(                                                  \
        const struct npu_dot_quads_run *runs, uint32_t run_count, size_t start, size_t pixel_step, \
        const int8_t *weights, size_t brick_bytes, int32_t *sums, size_t brick_sums)               \
    {                                                                                              \
        __m512i acc[PIXELS][BRICKS];                                                               \
        EACH_PIXEL(PIXELS)                                                                         \
        {                                                                                          \
            EACH_BRICK(BRICKS)                                                                     \
            {                                                                                      \
                acc[p][b] = _mm512_loadu_si512(weights + (size_t)b * brick_bytes);                 \
            }                                                                                      \
        }                                                                                          \
        weights += sizeof(__m512i);                                                                \
        for (uint32_t run = 0; run < run_count; run++) {                                           \
            const uint8_t *input = runs[run].input + start;                                        \
            for (uint32_t quad = 0; quad < runs[run].quads; quad++) {                              \
                __m512i weight[BRICKS];                                                            \
                EACH_BRICK(BRICKS)                                                                 \
                {                                                                                  \
                    weight[b] = _mm512_loadu_si512(weights + (size_t)b * brick_bytes);             \
                }                                                                                  \
                EACH_PIXEL(PIXELS)                                                                 \
                {                                                                                  \
                    __m512i value = _mm512_set1_epi32(load_quad(input + (size_t)p * pixel_step));  \
                    EACH_BRICK(BRICKS)                                                             \
                    {                                                                              \
                        acc[p][b] = _mm512_dpbusd_epi32(acc[p][b], value, weight[b]);              \
                    }                                                                              \
                }                                                                                  \
                input += NPU_DOT_QUAD;                                                             \
                weights += NPU_DOT_LANES * NPU_DOT_QUAD;                                           \
            }                                                                                      \
        }                                                                                          \
        EACH_PIXEL(PIXELS)                                                                         \
        {                                                                                          \
            EACH_BRICK(BRICKS)                                                                     \
            {                                                                                      \
                _mm512_storeu_si512(sums + (size_t)b * brick_sums + p * NPU_DOT_LANES, acc[p][b]); \
            }                                                                                      \
        }                                                                                          \
    }

#define QUADS_BLOCKS(BRICKS) \
    QUADS_BLOCK(1, BRICKS)   \
    QUADS_BLOCK(2, BRICKS)   \
    QUADS_BLOCK(3, BRICKS)   \
    QUADS_BLOCK(4, BRICKS)   \
    QUADS_BLOCK(5, BRICKS)   \
    QUADS_BLOCK(6, BRICKS)   \
    QUADS_BLOCK(7, BRICKS)   \
    QUADS_BLOCK(8, BRICKS)

QUADS_BLOCKS(1)
QUADS_BLOCKS(2)
QUADS_BLOCK(1, 4)

void npu_dot_quads_avx512(const struct npu_dot_quads_run *runs, uint32_t run_count,
                          size_t pixel_step, const int8_t *weights, size_t brick_bytes,
                          size_t bricks, uint32_t pixels, int32_t *sums)
{
    enum { LARGEST = 8 };
    static quads_t *const one[] = {quads_1_1, quads_2_1, quads_3_1, quads_4_1,
                                   quads_5_1, quads_6_1, quads_7_1, quads_8_1};
    static quads_t *const two[] = {quads_1_2, quads_2_2, quads_3_2, quads_4_2,
                                   quads_5_2, quads_6_2, quads_7_2, quads_8_2};
    const size_t brick_sums = (size_t)pixels * NPU_DOT_LANES;
    while (bricks > 0) {
        /* Sums of one pixel wait for each other, unless there are more of them. */
        size_t count = pixels == 1 && bricks >= 4 ? 4 : bricks >= 2 ? 2 : 1;
        uint32_t left = (pixels + LARGEST - 1) / LARGEST;
        for (uint32_t p = 0; p < pixels; left--) {
            uint32_t some = (pixels - p) / left;
            quads_t *block = count == 4 ? quads_1_4 : count == 2 ? two[some - 1] : one[some - 1];
            block(runs, run_count, p * pixel_step, pixel_step, weights, brick_bytes,
                  sums + (size_t)p * NPU_DOT_LANES, brick_sums);
            p += some;
        }
        weights += count * brick_bytes;
        sums += count * brick_sums;
        bricks -= count;
    }
}

bool npu_has_avx2(void)
{
    return __builtin_cpu_supports("avx2");
}

void npu_dot_avx2(const struct npu_dot_run *runs, uint32_t run_count, size_t pixel_step,
                  const int16_t *weights, uint32_t pixels, int32_t *sums)
{
    static block_t *const blocks[] = {avx2_1, avx2_2, avx2_3, avx2_4, avx2_5, avx2_6};
    run_blocks(blocks, 6, runs, run_count, pixel_step, weights, pixels, sums);
}

AVX2 INLINE __m256i load_bytes(const int8_t *from)
{
    return _mm256_cvtepi8_epi16(_mm_loadu_si128((const void *)from));
}

AVX2 void npu_dot_bytes_avx2(const struct npu_dot_run *runs, uint32_t run_count,
                             const int8_t *weights, size_t bricks, int32_t *sums)
{
    for (size_t brick = 0; brick < bricks; brick++, sums += NPU_DOT_LANES) {
        __m256i low = _mm256_setzero_si256(), high = low;
        for (uint32_t run = 0; run < run_count; run++) {
            const int16_t *input = runs[run].input;
#pragma GCC unroll 4
            for (uint32_t pair = 0; pair < runs[run].pairs; pair++) {
                __m256i value = _mm256_set1_epi32(load_pair(input));
                __m256i weight = load_bytes(weights);
                __m256i weight2 = load_bytes(weights + NPU_DOT_LANES);
                low = _mm256_add_epi32(low, _mm256_madd_epi16(value, weight));
                high = _mm256_add_epi32(high, _mm256_madd_epi16(value, weight2));
                input += NPU_DOT_PAIR;
                weights += NPU_DOT_LANES * NPU_DOT_PAIR;
            }
        }
        _mm256_storeu_si256((void *)sums, low);
        _mm256_storeu_si256((void *)(sums + 8), high);
    }
}

/** Rows of two taps with their channels side by side: 0 to 3 and 8 to 11 in low. */
struct pairs {
    __m256i low, high;
};

AVX2 INLINE struct pairs interleave(__m256i first, __m256i second)
{
    return (struct pairs){_mm256_unpacklo_epi16(first, second),
                          _mm256_unpackhi_epi16(first, second)};
}

AVX2 INLINE __m256i load(const int16_t *from)
{
    return _mm256_loadu_si256((const void *)from);
}

/** Add the products of two rows and their weights. */
AVX2 INLINE struct pairs add_products(struct pairs sum, __m256i first, __m256i second,
                                      const struct pairs *weights)
{
    struct pairs rows = interleave(first, second);
    sum.low = _mm256_add_epi32(sum.low, _mm256_madd_epi16(rows.low, weights->low));
    sum.high = _mm256_add_epi32(sum.high, _mm256_madd_epi16(rows.high, weights->high));
    return sum;
}

/** Store sums in the order of their channels; more: add them to those that are there. */
AVX2 INLINE void store_pairs(struct pairs sum, int32_t *sums, bool more)
{
    __m256i low = _mm256_permute2x128_si256(sum.low, sum.high, 0x20);
    __m256i high = _mm256_permute2x128_si256(sum.low, sum.high, 0x31);
    if (more) {
        low = _mm256_add_epi32(low, _mm256_loadu_si256((const void *)sums));
        high = _mm256_add_epi32(high, _mm256_loadu_si256((const void *)(sums + 8)));
    }
    _mm256_storeu_si256((void *)sums, low);
    _mm256_storeu_si256((void *)(sums + 8), high);
}

/** At most PAIRS_MAX pairs of taps; an odd tap is the first of the last pair. */
AVX2 static void depthwise_taps(const int16_t *const *inputs, uint32_t taps, size_t first,
                                size_t pixel_step, const int16_t *weights, size_t weight_step,
                                uint32_t pixels, int32_t *sums, bool more)
{
    struct pairs packed[PAIRS_MAX];
    const uint32_t whole = taps / 2;
    const bool odd = taps % 2 != 0;
    const __m256i zero = _mm256_setzero_si256();
    for (uint32_t i = 0; i < whole; i++) {
        packed[i] = interleave(load(weights), load(weights + weight_step));
        weights += 2 * weight_step;
    }
    if (odd) {
        packed[whole] = interleave(load(weights), zero);
    }
    /* Two pixels share the loads of the weights. */
    for (; pixels >= 2; pixels -= 2, first += 2 * pixel_step, sums += 2 * NPU_DOT_LANES) {
        struct pairs sum[2] = {{zero, zero}, {zero, zero}};
        for (uint32_t i = 0; i < whole; i++) {
            const int16_t *one = inputs[2 * i] + first, *other = inputs[2 * i + 1] + first;
            sum[0] = add_products(sum[0], load(one), load(other), &packed[i]);
            sum[1] =
                add_products(sum[1], load(one + pixel_step), load(other + pixel_step), &packed[i]);
        }
        if (odd) {
            const int16_t *last = inputs[taps - 1] + first;
            sum[0] = add_products(sum[0], load(last), zero, &packed[whole]);
            sum[1] = add_products(sum[1], load(last + pixel_step), zero, &packed[whole]);
        }
        store_pairs(sum[0], sums, more);
        store_pairs(sum[1], sums + NPU_DOT_LANES, more);
    }
    if (pixels > 0) {
        struct pairs sum = {zero, zero};
        for (uint32_t i = 0; i < whole; i++) {
            sum = add_products(sum, load(inputs[2 * i] + first), load(inputs[2 * i + 1] + first),
                               &packed[i]);
        }
        if (odd) {
            sum = add_products(sum, load(inputs[taps - 1] + first), zero, &packed[whole]);
        }
        store_pairs(sum, sums, more);
    }
}

void npu_dot_depthwise_avx2(const int16_t *const *inputs, uint32_t taps, size_t first,
                            size_t pixel_step, const int16_t *weights, size_t weight_step,
                            uint32_t pixels, int32_t *sums)
{
    for (uint32_t done = 0; done < taps;) {
        uint32_t count = taps - done < 2 * PAIRS_MAX ? taps - done : 2 * PAIRS_MAX;
        depthwise_taps(inputs + done, count, first, pixel_step, weights + done * weight_step,
                       weight_step, pixels, sums, done > 0);
        done += count;
    }
}

AVX512 INLINE __m128i load_brick(const uint8_t *from)
{
    return _mm_loadu_si128((const void *)from);
}

/** The inputs of at most 4 taps, those of a channel side by side; the last one is repeated. */
AVX512 INLINE __m512i load_taps(const uint8_t *const *inputs, uint32_t taps, size_t first)
{
    /* Transposes 4x4 elements: in fours of channels across the vector, then the bytes of each. */
    const __m512i fours = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i bytes = _mm512_set4_epi32(0x0F0B0703, 0x0E0A0602, 0x0D090501, 0x0C080400);
    __m512i rows = _mm512_castsi128_si512(load_brick(inputs[0] + first));
    if (taps == 1) {
        rows = _mm512_broadcast_i32x4(_mm512_castsi512_si128(rows));
    } else {
        __m256i low =
            _mm256_inserti128_si256(_mm512_castsi512_si256(rows), load_brick(inputs[1] + first), 1);
        __m256i high = _mm256_castsi128_si256(load_brick(inputs[taps > 2 ? 2 : 1] + first));
        high = _mm256_inserti128_si256(high, load_brick(inputs[taps - 1] + first), 1);
        rows = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
    }
    return _mm512_shuffle_epi8(_mm512_permutexvar_epi32(fours, rows), bytes);
}

AVX512 void npu_dot_depthwise_quads_avx512(const uint8_t *const *inputs, uint32_t taps,
                                           size_t first, size_t pixel_step, const int8_t *weights,
                                           uint32_t pixels, int32_t *sums)
{
    const uint32_t rest = taps % NPU_DOT_QUAD;
    for (uint32_t p = 0; p < pixels; p++, first += pixel_step, sums += NPU_DOT_LANES) {
        __m512i sum = _mm512_loadu_si512(weights);
        const int8_t *weight = weights + sizeof sum;
        uint32_t tap = 0;
        for (; tap < taps - rest; tap += NPU_DOT_QUAD, weight += sizeof sum) {
            sum = _mm512_dpbusd_epi32(sum, load_taps(inputs + tap, NPU_DOT_QUAD, first),
                                      _mm512_loadu_si512(weight));
        }
        if (rest > 0) {
            sum = _mm512_dpbusd_epi32(sum, load_taps(inputs + tap, rest, first),
                                      _mm512_loadu_si512(weight));
        }
        _mm512_storeu_si512(sums, sum);
    }
}

#endif
