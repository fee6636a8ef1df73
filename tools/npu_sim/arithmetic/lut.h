// SPDX-License-Identifier: MIT
/** Tables and curves. */
#ifndef NPU_LUT_H
#define NPU_LUT_H

#include "core/op.h"

extern const struct npu_table_form npu_table_8_to_8, npu_table_8_to_16, npu_table_8_to_32,
    npu_table_16_to_16, npu_table_16_to_32;

npu_curve_t npu_tanh, npu_sigmoid;                   /**< built in */
npu_curve_t npu_tanh_of_table, npu_sigmoid_of_table; /**< of 512 pairs of base and slope */

#endif
