// SPDX-License-Identifier: MIT
/** npu_dot() with the pair products of AVX2 and AVX-512. */
#ifndef NPU_DOT_X86_H
#define NPU_DOT_X86_H

#include "dot.h"

/**
 * As npu_dot(), for as many pixels as this machine has kernels for.
 *
 * @return pixels done, from 0 on; the caller does the rest
 */
uint32_t npu_dot_x86(const struct npu_dot_run *runs, uint32_t run_count, size_t pixel_step,
                     const int16_t *weights, uint32_t pixels, int32_t *sums, size_t sum_step);

#endif
