// SPDX-License-Identifier: MIT
/**
 * Operations as they were decoded the last time. Networks repeat the same operations in every
 * inference. What an operation is, what it moves and how long it takes depends only on registers
 * and on a few values, which are all compared; its data is not part of this.
 */
#ifndef NPU_MEMO_H
#define NPU_MEMO_H

#include <stdbool.h>
#include <stdint.h>

#include "core/npu_internal.h"
#include "core/op.h"
#include "time/timing.h"
#include "time/traffic.h"

/** What decoding, traffic and timing of an operation depend on besides the command registers. */
struct npu_memo_key {
    uint64_t base[NPU_REGION_COUNT];
    uint64_t lut_written[NPU_LUT_BYTES / NPU_LUT_GRANULE / 64];
    struct npu_kept kept;
    int row;
    uint32_t param, payload, qsize, region_config;
    uint8_t port[4];
};

struct npu_memo {
    bool valid; /**< what follows the registers was computed from them and the key */
    struct npu_memo_key key;
    uint64_t command[NPU_COMMAND_COUNT];
    bool command_set[NPU_COMMAND_COUNT];

    struct npu_op op;

    /* Of an operation with an OFM; filled when it is reported first. */
    struct npu_operation trace;
    struct npu_traffic traffic;
    struct npu_kernel_time time;
};

/**
 * The memo of the operation that is to be decoded: `valid`, or all else undefined.
 *
 * @return NULL after recording a fault: out of memory
 */
struct npu_memo *npu_memo_find(struct npu *npu, uint32_t param);

/** Forget all operations and free their memory: what they depend on is about to change. */
void npu_memo_free(struct npu *npu);

#endif
