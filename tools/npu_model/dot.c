// SPDX-License-Identifier: MIT
/** The inner kernels, portable; written so that compilers make vectors of them. */
#include "dot.h"

#include <string.h>

enum { PIXELS = 4, DEPTHWISE_LANES = 32 };

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
            input += NPU_DOT_ALIGNMENT_PAIR;
            weights += NPU_DOT_LANES * NPU_DOT_ALIGNMENT_PAIR;
        }
    }
    for (uint32_t p = 0; p < pixels; p++) {
        memcpy(sums + p * sum_step, acc[p], sizeof acc[p]);
    }
}

void npu_dot(const struct npu_dot_run *runs, uint32_t run_count, size_t pixel_step,
             const int16_t *weights, uint32_t pixels, int32_t *sums, size_t sum_step)
{
    for (uint32_t p = 0; p < pixels; p += PIXELS) {
        uint32_t block = pixels - p < PIXELS ? pixels - p : PIXELS;
        dot_block(runs, run_count, p * pixel_step, pixel_step, weights, block,
                  sums + p * sum_step, sum_step);
    }
}

void npu_dot_depthwise(const int16_t *const *inputs, uint32_t taps, const int16_t *weights,
                       size_t weight_step, uint32_t channels, int32_t *sums)
{
    for (uint32_t c = 0; c < channels; c += DEPTHWISE_LANES) {
        uint32_t lanes = channels - c < DEPTHWISE_LANES ? channels - c : DEPTHWISE_LANES;
        int32_t acc[DEPTHWISE_LANES] = {0};
        for (uint32_t tap = 0; tap < taps; tap++) {
            const int16_t *input = inputs[tap] + c;
            const int16_t *weight = weights + tap * weight_step + c;
            for (uint32_t lane = 0; lane < lanes; lane++) {
                acc[lane] += input[lane] * weight[lane];
            }
        }
        memcpy(sums + c, acc, lanes * sizeof *sums);
    }
}
