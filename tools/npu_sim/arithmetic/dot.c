// SPDX-License-Identifier: MIT
/** The portable inner kernels, and the selection of the best one. */
#include "arithmetic/dot.h"

#include <string.h>

#include "arithmetic/dot_neon.h"
#include "arithmetic/dot_x86.h"
#include "core/clones.h"

enum { PIXELS = 4 };

/** Compute a fixed number of pixels, from start elements after pixel 0 of the runs on. */
static void dot_pixels(const struct npu_dot_run *runs, uint32_t run_count, size_t start,
                       size_t pixel_step, const int16_t *weights, uint32_t pixels, int32_t *sums)
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
    memcpy(sums, acc, pixels * sizeof acc[0]);
}

static void dot_portable(const struct npu_dot_run *runs, uint32_t run_count, size_t pixel_step,
                         const int16_t *weights, uint32_t pixels, int32_t *sums)
{
    for (uint32_t p = 0; p < pixels; p += PIXELS) {
        uint32_t count = pixels - p < PIXELS ? pixels - p : PIXELS;
        dot_pixels(runs, run_count, p * pixel_step, pixel_step, weights, count,
                   sums + (size_t)p * NPU_DOT_LANES);
    }
}

static bool always(void)
{
    return true;
}

const struct npu_dot_kernel npu_dot_kernels[] = {
#ifdef NPU_X86_KERNELS
    {"avx512vnni", npu_has_avx512, npu_dot_avx512},
    {"avx2", npu_has_avx2, npu_dot_avx2},
#endif
#ifdef NPU_NEON_KERNELS
    {"neon", always, npu_dot_neon},
#endif
    {"portable", always, dot_portable},
};
const unsigned npu_dot_kernel_count = sizeof npu_dot_kernels / sizeof npu_dot_kernels[0];

void npu_dot(const struct npu_dot_run *runs, uint32_t run_count, size_t pixel_step,
             const int16_t *weights, uint32_t pixels, int32_t *sums)
{
    const struct npu_dot_kernel *kernel = npu_dot_kernels;
    while (!kernel->supported()) {
        kernel++;
    }
    kernel->run(runs, run_count, pixel_step, weights, pixels, sums);
}

npu_dot_bytes_t *npu_dot_bytes(void)
{
#ifdef NPU_X86_KERNELS
    return npu_has_avx2() ? npu_dot_bytes_avx2 : NULL;
#else
    return NULL;
#endif
}

npu_dot_quads_t *npu_dot_quads(void)
{
#ifdef NPU_X86_KERNELS
    return npu_has_avx512() ? npu_dot_quads_avx512 : NULL;
#else
    return NULL;
#endif
}

NPU_CLONES static void depthwise_portable(const int16_t *const *inputs, uint32_t taps, size_t first,
                                          size_t pixel_step, const int16_t *weights,
                                          size_t weight_step, uint32_t pixels, int32_t *sums)
{
    for (uint32_t p = 0; p < pixels; p++) {
        int32_t acc[NPU_DOT_LANES] = {0};
        for (uint32_t tap = 0; tap < taps; tap++) {
            const int16_t *input = inputs[tap] + p * pixel_step + first;
            const int16_t *weight = weights + tap * weight_step;
            for (int lane = 0; lane < NPU_DOT_LANES; lane++) {
                acc[lane] += input[lane] * weight[lane];
            }
        }
        memcpy(sums + (size_t)p * NPU_DOT_LANES, acc, sizeof acc);
    }
}

void npu_dot_depthwise(const int16_t *const *inputs, uint32_t taps, size_t first, size_t pixel_step,
                       const int16_t *weights, size_t weight_step, uint32_t pixels, int32_t *sums)
{
    npu_dot_depthwise_t *run = depthwise_portable;
#ifdef NPU_X86_KERNELS
    run = npu_has_avx2() ? npu_dot_depthwise_avx2 : run;
#endif
#ifdef NPU_NEON_KERNELS
    run = npu_dot_depthwise_neon;
#endif
    run(inputs, taps, first, pixel_step, weights, weight_step, pixels, sums);
}

npu_dot_depthwise_quads_t *npu_dot_depthwise_quads(void)
{
#ifdef NPU_X86_KERNELS
    return npu_has_avx512() ? npu_dot_depthwise_quads_avx512 : NULL;
#else
    return NULL;
#endif
}
