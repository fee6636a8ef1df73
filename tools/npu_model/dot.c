// SPDX-License-Identifier: MIT
/** The inner kernels, portable; written so that compilers make vectors of them. */
#include "dot.h"

#include <string.h>

#include "clones.h"
#include "dot_x86.h"

enum { PIXELS = 4 };

/** One block of pixels; start: elements from pixel 0 of the runs to the block. */
static void dot_block(const struct npu_dot_run *runs, uint32_t run_count, size_t start,
                      size_t pixel_step, const int16_t *weights, uint32_t pixels, int32_t *sums,
                      size_t sum_step)
{
    int32_t acc[PIXELS][NPU_DOT_LANES] = {{0}};
    for (uint32_t run = 0; run < run_count; run++) {
        const int16_t *input = runs[run].input + start;
        for (uint32_t pair = 0; pair < runs[run].pairs; pair++) {
            for (uint32_t p = 0; p < pixels; p++) {
                int32_t a = input[p * pixel_step];
                int32_t b = input[p * pixel_step + 1];
                for (int lane = 0; lane < NPU_DOT_LANES; lane++) {
                    acc[p][lane] += a * weights[2 * lane] + b * weights[2 * lane + 1];
                }
            }
            input += NPU_DOT_PAIR;
            weights += NPU_DOT_LANES * NPU_DOT_PAIR;
        }
    }
    for (uint32_t p = 0; p < pixels; p++) {
        memcpy(sums + p * sum_step, acc[p], sizeof acc[p]);
    }
}

void npu_dot(const struct npu_dot_run *runs, uint32_t run_count, size_t pixel_step,
             const int16_t *weights, uint32_t pixels, int32_t *sums, size_t sum_step)
{
    uint32_t done =
        npu_dot_x86(runs, run_count, pixel_step, weights, pixels, sums, sum_step);
    for (uint32_t p = done; p < pixels; p += PIXELS) {
        uint32_t block = pixels - p < PIXELS ? pixels - p : PIXELS;
        dot_block(runs, run_count, p * pixel_step, pixel_step, weights, block,
                  sums + p * sum_step, sum_step);
    }
}

NPU_CLONES static void depthwise_lanes(const int16_t *const *inputs, uint32_t taps,
                                       size_t pixel_step, const int16_t *weights,
                                       size_t weight_step, uint32_t pixels, int32_t *sums,
                                       size_t sum_step, size_t first)
{
    for (uint32_t p = 0; p < pixels; p++) {
        int32_t acc[NPU_DOT_LANES] = {0};
        for (uint32_t tap = 0; tap < taps; tap++) {
            const int16_t *input = inputs[tap] + p * pixel_step + first;
            const int16_t *weight = weights + tap * weight_step + first;
            for (int lane = 0; lane < NPU_DOT_LANES; lane++) {
                acc[lane] += input[lane] * weight[lane];
            }
        }
        memcpy(sums + p * sum_step + first, acc, sizeof acc);
    }
}

void npu_dot_depthwise(const int16_t *const *inputs, uint32_t taps, size_t pixel_step,
                       const int16_t *weights, uint32_t pixels, int32_t *sums, size_t step)
{
    for (size_t first = 0; first < step; first += NPU_DOT_LANES) {
        depthwise_lanes(inputs, taps, pixel_step, weights, step, pixels, sums, step, first);
    }
}
