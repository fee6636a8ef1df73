// SPDX-License-Identifier: MIT
/** The inner kernels of CONV and DEPTHWISE: 16-bit products summed in 32 bits. */
#ifndef NPU_DOT_H
#define NPU_DOT_H

#include <stddef.h>
#include <stdint.h>

enum {
    NPU_DOT_LANES = 16,         /**< output channels computed together */
    NPU_DOT_PAIR = 2, /**< inputs are multiplied in pairs */
};

/**
 * A run of inputs, contiguous within each pixel.
 *
 * Kernels read whole pairs: an odd run ends in one more input, whose weight is 0.
 */
struct npu_dot_run {
    const int16_t *input; /**< of pixel 0 */
    uint32_t pairs;
};

/**
 * sums[p][lane] = sum over runs and inputs of input[p] * weight[lane].
 *
 * @param runs        runs in the order of the weights
 * @param pixel_step  elements from pixel to pixel
 * @param weights     [run][pair][NPU_DOT_LANES][2]
 * @param sums        [pixels][sum_step]; the caller sees to it that 32 bits hold every sum
 */
void npu_dot(const struct npu_dot_run *runs, uint32_t run_count, size_t pixel_step,
             const int16_t *weights, uint32_t pixels, int32_t *sums, size_t sum_step);

/**
 * sums[p][c] = sum over taps of inputs[tap][p][c] * weights[tap][c]
 *
 * Computes whole lanes: it reads up to NPU_DOT_LANES - 1 inputs past the last channel.
 *
 * @param inputs      of pixel 0, for each tap
 * @param pixel_step  elements from pixel to pixel
 * @param step        channels, rounded up to whole lanes: step of weights and sums
 */
void npu_dot_depthwise(const int16_t *const *inputs, uint32_t taps, size_t pixel_step,
                       const int16_t *weights, uint32_t pixels, int32_t *sums, size_t step);

#endif
