// SPDX-License-Identifier: MIT
/**
 * npu_dot() and npu_dot_depthwise() with the widening products of NEON.
 *
 * One function per number of pixels, so that all sums stay in registers.
 */
#include "dot_neon.h"

#include <string.h>

#include "clones.h"

#ifdef NPU_NEON_KERNELS

#include <arm_neon.h>

/** The sums of one pixel. */
struct lanes {
    int32x4_t sums[NPU_DOT_LANES / 4];
};

/** Computes a fixed number of pixels, from start elements after pixel 0 of the runs on. */
typedef void block_t(const struct npu_dot_run *runs, uint32_t run_count, size_t start,
                     size_t pixel_step, const int16_t *weights, int32_t *sums);

NEON INLINE int16x4_t load_pair(const int16_t *input)
{
    int32_t pair;
    memcpy(&pair, input, sizeof pair);
    return vreinterpret_s16_s32(vdup_n_s32(pair));
}

/** Add a pair's products; each half has 8 lanes, its weights of either input apart. */
NEON INLINE void add_pair(struct lanes *acc, int16x4_t pair, const int16x8x2_t half[2])
{
    for (int h = 0; h < 2; h++) {
        int32x4_t low = acc->sums[2 * h], high = acc->sums[2 * h + 1];
        low = vmlal_lane_s16(low, vget_low_s16(half[h].val[0]), pair, 0);
        high = vmlal_high_lane_s16(high, half[h].val[0], pair, 0);
        acc->sums[2 * h] = vmlal_lane_s16(low, vget_low_s16(half[h].val[1]), pair, 1);
        acc->sums[2 * h + 1] = vmlal_high_lane_s16(high, half[h].val[1], pair, 1);
    }
}

NEON INLINE void store_lanes(const struct lanes *acc, int32_t *sums)
{
    for (int i = 0; i < NPU_DOT_LANES / 4; i++) {
        vst1q_s32(sums + 4 * i, acc->sums[i]);
    }
}

#define BLOCK(PIXELS)                                                                        \
    NEON static void block_##PIXELS(const struct npu_dot_run *runs, uint32_t run_count,      \
                                    size_t start, size_t pixel_step, const int16_t *weights, \
                                    int32_t *sums)                                           \
    {                                                                                        \
        struct lanes acc[PIXELS] = {0};                                                      \
        for (uint32_t run = 0; run < run_count; run++) {                                     \
            const int16_t *input = runs[run].input + start;                                  \
            for (uint32_t pair = 0; pair < runs[run].pairs; pair++) {                        \
                const int16x8x2_t half[2] = {vld2q_s16(weights),                             \
                                             vld2q_s16(weights + NPU_DOT_LANES)};            \
                EACH_PIXEL(PIXELS)                                                           \
                {                                                                            \
                    add_pair(&acc[p], load_pair(input + (size_t)p * pixel_step), half);      \
                }                                                                            \
                input += NPU_DOT_PAIR;                                                       \
                weights += NPU_DOT_LANES * NPU_DOT_PAIR;                                     \
            }                                                                                \
        }                                                                                    \
        EACH_PIXEL(PIXELS)                                                                   \
        {                                                                                    \
            store_lanes(&acc[p], sums + p * NPU_DOT_LANES);                                  \
        }                                                                                    \
    }

BLOCK(1)
BLOCK(2)
BLOCK(3)
BLOCK(4)

void npu_dot_neon(const struct npu_dot_run *runs, uint32_t run_count, size_t pixel_step,
                  const int16_t *weights, uint32_t pixels, int32_t *sums)
{
    static block_t *const blocks[] = {block_1, block_2, block_3, block_4};
    const uint32_t largest = sizeof blocks / sizeof blocks[0];
    size_t start = 0;
    /* Blocks of about equal size: small ones load the weights for few pixels. */
    for (uint32_t left = (pixels + largest - 1) / largest; left > 0; left--) {
        uint32_t count = pixels / left;
        blocks[count - 1](runs, run_count, start, pixel_step, weights, sums);
        start += count * pixel_step;
        sums += (size_t)count * NPU_DOT_LANES;
        pixels -= count;
    }
}

NEON INLINE void add_tap(struct lanes *acc, const int16_t *input, int16x8_t low, int16x8_t high)
{
    int16x8_t first = vld1q_s16(input), second = vld1q_s16(input + 8);
    acc->sums[0] = vmlal_s16(acc->sums[0], vget_low_s16(first), vget_low_s16(low));
    acc->sums[1] = vmlal_high_s16(acc->sums[1], first, low);
    acc->sums[2] = vmlal_s16(acc->sums[2], vget_low_s16(second), vget_low_s16(high));
    acc->sums[3] = vmlal_high_s16(acc->sums[3], second, high);
}

#define TAPS(PIXELS)                                                                              \
    NEON static void taps_##PIXELS(const int16_t *const *inputs, uint32_t taps, size_t first,     \
                                   size_t pixel_step, const int16_t *weights, size_t weight_step, \
                                   int32_t *sums)                                                 \
    {                                                                                             \
        struct lanes acc[PIXELS] = {0};                                                           \
        for (uint32_t tap = 0; tap < taps; tap++, weights += weight_step) {                       \
            const int16_t *input = inputs[tap] + first;                                           \
            int16x8_t low = vld1q_s16(weights), high = vld1q_s16(weights + 8);                    \
            EACH_PIXEL(PIXELS)                                                                    \
            {                                                                                     \
                add_tap(&acc[p], input + (size_t)p * pixel_step, low, high);                      \
            }                                                                                     \
        }                                                                                         \
        EACH_PIXEL(PIXELS)                                                                        \
        {                                                                                         \
            store_lanes(&acc[p], sums + p * NPU_DOT_LANES);                                       \
        }                                                                                         \
    }

TAPS(1)
TAPS(4)

void npu_dot_depthwise_neon(const int16_t *const *inputs, uint32_t taps, size_t first,
                            size_t pixel_step, const int16_t *weights, size_t weight_step,
                            uint32_t pixels, int32_t *sums)
{
    for (; pixels >= 4; pixels -= 4, first += 4 * pixel_step, sums += 4 * NPU_DOT_LANES) {
        taps_4(inputs, taps, first, pixel_step, weights, weight_step, sums);
    }
    for (; pixels > 0; pixels--, first += pixel_step, sums += NPU_DOT_LANES) {
        taps_1(inputs, taps, first, pixel_step, weights, weight_step, sums);
    }
}

#endif
