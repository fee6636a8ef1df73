// SPDX-License-Identifier: MIT
/** Products of NEON; only where NPU_NEON_KERNELS is defined. */
#ifndef NPU_DOT_NEON_H
#define NPU_DOT_NEON_H

#include "arithmetic/dot.h"

npu_dot_t npu_dot_neon;
npu_dot_depthwise_t npu_dot_depthwise_neon;

#endif
