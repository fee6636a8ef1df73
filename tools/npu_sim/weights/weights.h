// SPDX-License-Identifier: MIT
/** Weights and scales of one operation, decoded once to plain order. */
#ifndef NPU_WEIGHTS_H
#define NPU_WEIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/op.h"
#include "weights/weight_cache.h"

enum { NPU_SCALE_BYTES = 10 /**< of a record of the scale stream */ };

/**
 * Read and order the weights of all cores, or find them in the cache.
 *
 * @return  plain: [output channel][tap][input channel], tap = ky * kernel width + kx,
 *          for depthwise [output channel][tap]; NULL after recording a fault
 */
struct npu_weights *npu_weights_load(struct npu *npu, const struct npu_weight_streams *from);

/** Scale records in memory, by core; nothing if all channels use OFM_SCALE. */
struct npu_scale_records {
    const uint8_t *records[NPU_SCALE_CORES];
};

/** Find the scale records in memory; false after recording a fault. */
bool npu_scales_map(struct npu *npu, const struct npu_op *op, struct npu_scale_records *records);

/** Bytes of the records of a core. */
size_t npu_scales_bytes(const struct npu_op *op, uint32_t core);

/** Decode the scale records of all channels of the OFM; NULL after recording a fault. */
const struct npu_channel_scale *npu_scales_decode(struct npu *npu, const struct npu_op *op,
                                                  const struct npu_scale_records *records);

#endif
