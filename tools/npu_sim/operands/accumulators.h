// SPDX-License-Identifier: MIT
/**
 * Accumulators that outlive an operation: an operation may start from those of the previous
 * operation or from IFM2, and may keep its own instead of writing an OFM. Only Ethos-U85 supports
 * this; elsewhere each operation starts from 0 and writes its OFM.
 */
#ifndef NPU_ACCUMULATORS_H
#define NPU_ACCUMULATORS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/op.h"

/** Memory for the accumulators. */
struct npu_accumulator_rows {
    struct npu_accumulators accumulators;
    const struct npu_feature_map *ifm2; /**< of NPU_ACC_IFM2 */
    uint32_t width, depth;
    int64_t *kept; /**< [height][width][depth], if kept from or for another operation */
    int64_t *row;  /**< of IFM2: [width][depth] */
};

/** Allocate the memory, and note what the operation keeps. */
bool npu_accumulators_open(struct npu *npu, const struct npu_op *op,
                           struct npu_accumulator_rows *rows);

/** Do they start from 0 and end in the OFM? */
static inline bool npu_accumulators_plain(const struct npu_accumulators *accumulators)
{
    return accumulators->input == NPU_ACC_RESET && !accumulators->leave;
}

/**
 * Initial accumulators of pixels of row y from x on. Rows must be requested from their first pixel
 * on.
 *
 * @param values  [count][depth]
 */
bool npu_accumulators_start(struct npu *npu, const struct npu_accumulator_rows *rows, uint32_t y,
                            uint32_t x, uint32_t count, int64_t *values);

/** Keep them for the next operation; true if there is no OFM to write. */
bool npu_accumulators_leave(const struct npu_accumulator_rows *rows, uint32_t y, uint32_t x,
                            uint32_t count, const int64_t *values);

#endif
