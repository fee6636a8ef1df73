// SPDX-License-Identifier: MIT
/** Weights that are no constants: NPU_OP_CONV takes them from IFM2. */
#ifndef NPU_MATMUL_H
#define NPU_MATMUL_H

#include <stdbool.h>
#include <stdint.h>

#include "window.h"

/**
 * Read IFM2 as the weights of a 1x1 kernel: its pixel c, of one row, is output channel c.
 *
 * @param plain    [channels][input], in working memory
 * @param largest  magnitude that no weight exceeds
 */
bool npu_matmul_weights(struct npu *npu, const struct npu_kernel_window *window, uint32_t channels,
                        int16_t **plain, int64_t *largest);

#endif
