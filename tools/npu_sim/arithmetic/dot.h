// SPDX-License-Identifier: MIT
/** The inner kernels of CONV and DEPTHWISE: 16-bit products summed in 32 bits.
 */
#ifndef NPU_DOT_H
#define NPU_DOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    NPU_DOT_LANES = 16, /**< output channels computed together */
    NPU_DOT_PAIR = 2,   /**< inputs are multiplied in pairs */
    NPU_DOT_QUAD = 4,   /**< those of 8 bits in fours */
};

/**
 * A run of inputs, contiguous within each pixel.
 *
 * Kernels read whole pairs: an odd run ends in one more input, whose weight is
 * 0.
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
 * @param sums        [pixels][NPU_DOT_LANES]; the caller sees to it that 32
 * bits hold every sum
 */
typedef void npu_dot_t(const struct npu_dot_run *runs, uint32_t run_count, size_t pixel_step,
                       const int16_t *weights, uint32_t pixels, int32_t *sums);

/** One implementation of it. */
struct npu_dot_kernel {
    const char *name;
    bool (*supported)(void); /**< by this CPU */
    npu_dot_t *run;
};

/** All implementations, best first; the last one is portable. */
extern const struct npu_dot_kernel npu_dot_kernels[];
extern const unsigned npu_dot_kernel_count;

/** The best implementation for this CPU. */
npu_dot_t npu_dot;

/**
 * The same for one pixel and several bricks, with weights of 8 bits: as each is used once, their
 * bytes are what takes time.
 *
 * @param weights  [brick][run][pair][NPU_DOT_LANES][2]
 * @param sums     [bricks][NPU_DOT_LANES]
 */
typedef void npu_dot_bytes_t(const struct npu_dot_run *runs, uint32_t run_count,
                             const int8_t *weights, size_t bricks, int32_t *sums);

/** The implementation for this CPU; NULL if it has none that is faster. */
npu_dot_bytes_t *npu_dot_bytes(void);

/** A run of inputs of 8 bits; like struct npu_dot_run, but it ends with a whole quad. */
struct npu_dot_quads_run {
    const uint8_t *input; /**< of pixel 0 */
    uint32_t quads;
};

/**
 * Sums of unsigned inputs and signed weights of 8 bits, for pixels and several bricks. Each sum
 * begins with a number of its lane, which takes away what zero point and sign add to the inputs.
 *
 * @param weights      of a brick: int32_t [NPU_DOT_LANES], then [run][quad][NPU_DOT_LANES][4]
 * @param brick_bytes  from a brick of weights to the next
 * @param sums         [bricks][pixels][NPU_DOT_LANES], modulo 2^32
 */
typedef void npu_dot_quads_t(const struct npu_dot_quads_run *runs, uint32_t run_count,
                             size_t pixel_step, const int8_t *weights, size_t brick_bytes,
                             size_t bricks, uint32_t pixels, int32_t *sums);

/** The implementation for this CPU; NULL if it has none. */
npu_dot_quads_t *npu_dot_quads(void);

/**
 * sums[p][lane] = sum over taps of inputs[tap][p][lane] * weights[tap][lane].
 *
 * @param inputs       of pixel 0, for each tap
 * @param first        channel of lane 0
 * @param weights      of lane 0
 * @param pixel_step   elements from pixel to pixel
 * @param weight_step  elements from tap to tap
 * @param sums         [pixels][NPU_DOT_LANES]
 */
typedef void npu_dot_depthwise_t(const int16_t *const *inputs, uint32_t taps, size_t first,
                                 size_t pixel_step, const int16_t *weights, size_t weight_step,
                                 uint32_t pixels, int32_t *sums);

/** The best implementation for this CPU. */
npu_dot_depthwise_t npu_dot_depthwise;

/**
 * The same for inputs and weights of 8 bits, as in npu_dot_quads(): the taps in fours.
 *
 * @param weights  of the brick: int32_t [NPU_DOT_LANES], then [quad of taps][NPU_DOT_LANES][4]
 */
typedef void npu_dot_depthwise_quads_t(const uint8_t *const *inputs, uint32_t taps, size_t first,
                                       size_t pixel_step, const int8_t *weights, uint32_t pixels,
                                       int32_t *sums);

/** The implementation for this CPU; NULL if it has none. */
npu_dot_depthwise_quads_t *npu_dot_depthwise_quads(void);

#endif
