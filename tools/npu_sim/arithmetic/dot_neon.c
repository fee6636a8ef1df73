// SPDX-License-Identifier: MIT
/**
 * npu_dot() and npu_dot_depthwise() with the widening products of NEON.
 *
 * One function per number of pixels, so that all sums stay in registers.
 */
#include "arithmetic/dot_neon.h"

#include <string.h>

#include "core/clones.h"

#ifdef NPU_NEON_KERNELS

#include <arm_neon.h>

/** The sums of one pixel. */
struct lanes {
    int32x4_t sums[NPU_DOT_LANES / 4];
};

/** Computes a fixed number of pixels, from start elements after pixel 0 of the runs on. */
typedef void block_t(const struct npu_dot_run *runs, uint32_t run_count, size_t start,
                     size_t pixel_step, const int16_t *weights, int32_t *sums);

NEON INLINE int16x8_t load_pair(const int16_t *input)
{
    int32_t pair;
    memcpy(&pair, input, sizeof pair);
    return vreinterpretq_s16_s32(vdupq_n_s32(pair));
}

/**
 * Add the products of one pair to all pixels. Each half of the weights has 8 lanes, those of either
 * input apart. LANE: of the pair's first input in inputs[p], a constant.
 */
#define ADD_PAIR(PIXELS, LANE)                                                                  \
    {                                                                                           \
        const int16x8x2_t half[2] = {vld2q_s16(weights), vld2q_s16(weights + NPU_DOT_LANES)};   \
        EACH_PIXEL(PIXELS)                                                                      \
        {                                                                                       \
            int32x4_t *sums_ = acc[p].sums;                                                     \
            for (int h = 0; h < 2; h++, sums_ += 2) {                                           \
                const int16x8_t one = half[h].val[0], other = half[h].val[1];                   \
                sums_[0] = vmlal_laneq_s16(sums_[0], vget_low_s16(one), inputs[p], LANE);       \
                sums_[1] = vmlal_high_laneq_s16(sums_[1], one, inputs[p], LANE);                \
                sums_[0] = vmlal_laneq_s16(sums_[0], vget_low_s16(other), inputs[p], LANE + 1); \
                sums_[1] = vmlal_high_laneq_s16(sums_[1], other, inputs[p], LANE + 1);          \
            }                                                                                   \
        }                                                                                       \
        weights += NPU_DOT_LANES * NPU_DOT_PAIR;                                                \
    }

NEON INLINE void store_lanes(const struct lanes *acc, int32_t *sums)
{
    for (int i = 0; i < NPU_DOT_LANES / 4; i++) {
        vst1q_s32(sums + 4 * i, acc->sums[i]);
    }
}

/** Inputs are loaded four pairs at a time. */
#define BLOCK(PIXELS)                                                                        \
    NEON static void block_##PIXELS(const struct npu_dot_run *runs, uint32_t run_count,      \
                                    size_t start, size_t pixel_step, const int16_t *weights, \
                                    int32_t *sums)                                           \
    {                                                                                        \
        struct lanes acc[PIXELS] = {0};                                                      \
        int16x8_t inputs[PIXELS];                                                            \
        for (uint32_t run = 0; run < run_count; run++) {                                     \
            const int16_t *input = runs[run].input + start;                                  \
            uint32_t pairs = runs[run].pairs;                                                \
            for (; pairs >= 4; pairs -= 4, input += 4 * NPU_DOT_PAIR) {                      \
                EACH_PIXEL(PIXELS)                                                           \
                {                                                                            \
                    inputs[p] = vld1q_s16(input + (size_t)p * pixel_step);                   \
                }                                                                            \
                ADD_PAIR(PIXELS, 0)                                                          \
                ADD_PAIR(PIXELS, 2)                                                          \
                ADD_PAIR(PIXELS, 4)                                                          \
                ADD_PAIR(PIXELS, 6)                                                          \
            }                                                                                \
            for (; pairs > 0; pairs--, input += NPU_DOT_PAIR) {                              \
                EACH_PIXEL(PIXELS)                                                           \
                {                                                                            \
                    inputs[p] = load_pair(input + (size_t)p * pixel_step);                   \
                }                                                                            \
                ADD_PAIR(PIXELS, 0)                                                          \
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
