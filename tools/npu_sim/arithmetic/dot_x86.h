// SPDX-License-Identifier: MIT
/** Pair products of AVX2 and AVX-512; only where NPU_X86_KERNELS is defined. */
#ifndef NPU_DOT_X86_H
#define NPU_DOT_X86_H

#include "arithmetic/dot.h"

bool npu_has_avx512(void);
npu_dot_t npu_dot_avx512;
npu_dot_quads_t npu_dot_quads_avx512;
npu_dot_depthwise_quads_t npu_dot_depthwise_quads_avx512;

bool npu_has_avx2(void);
npu_dot_t npu_dot_avx2;
npu_dot_bytes_t npu_dot_bytes_avx2;
npu_dot_depthwise_t npu_dot_depthwise_avx2;

#endif
