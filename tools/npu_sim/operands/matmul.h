// SPDX-License-Identifier: MIT
/** Variable weights, which NPU_OP_CONV takes from IFM2. */
#ifndef NPU_MATMUL_H
#define NPU_MATMUL_H

#include <stdbool.h>
#include <stdint.h>

struct npu;
struct npu_op;

/** IFM2 as the weights of a 1x1 kernel: pixel c of its single row is output channel c. */
bool npu_decode_matmul(struct npu *npu, struct npu_op *op);

/** Read them to working memory: [channel][input]; NULL after recording a fault. */
int16_t *npu_matmul_weights(struct npu *npu, const struct npu_op *op);

#endif
