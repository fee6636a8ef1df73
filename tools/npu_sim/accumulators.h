// SPDX-License-Identifier: MIT
/**
 * Accumulators that outlive an operation: one may begin with what the operation
 * before it left, or with IFM2, and may leave its own instead of writing an OFM.
 * Only Ethos-U85 has this; elsewhere each operation begins with 0 and ends in its OFM.
 */
#ifndef NPU_ACCUMULATORS_H
#define NPU_ACCUMULATORS_H

#include <stdbool.h>
#include <stdint.h>

#include "feature_map.h"

/** Values of ACC_FORMAT.acc_input. */
enum npu_accumulator_input { NPU_ACC_RESET = 0, NPU_ACC_KEEP = 1, NPU_ACC_IFM2 = 2 };

/** How an operation's accumulators begin and end, decoded. */
struct npu_accumulators {
    unsigned bits; /**< where they wrap */
    enum npu_accumulator_input input;
    bool leave; /**< no OFM: they stay for the next operation */
};

/** The memory behind them. */
struct npu_accumulator_rows {
    struct npu_accumulators accumulators;
    const struct npu_feature_map *ifm2; /**< of NPU_ACC_IFM2 */
    uint32_t width, depth;
    int64_t *kept; /**< [height][width][depth], when they are kept or left */
    int64_t *row;  /**< of IFM2: [width][depth] */
};

struct npu_op;

/** Get the memory, and note what the operation leaves. */
bool npu_accumulators_open(struct npu *npu, const struct npu_op *op,
                           struct npu_accumulator_rows *rows);

/** They begin with 0 and end in the OFM. */
static inline bool npu_accumulators_plain(const struct npu_accumulators *accumulators)
{
    return accumulators->input == NPU_ACC_RESET && !accumulators->leave;
}

/**
 * What pixels of row y from x on begin with. Rows are asked for from their first pixel on.
 *
 * @param values  [count][depth]
 */
bool npu_accumulators_start(struct npu *npu, const struct npu_accumulator_rows *rows, uint32_t y,
                            uint32_t x, uint32_t count, int64_t *values);

/** Leave them for the next operation; true when there is no OFM to write. */
bool npu_accumulators_leave(const struct npu_accumulator_rows *rows, uint32_t y, uint32_t x,
                            uint32_t count, const int64_t *values);

#endif
