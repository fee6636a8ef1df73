// SPDX-License-Identifier: MIT
/** The operands of ELEMENTWISE: a feature map, broadcast or not, or a scalar; and their scale. */
#ifndef NPU_OPERAND_H
#define NPU_OPERAND_H

#include <stdbool.h>
#include <stdint.h>

#include "operands/output.h"

enum { NPU_BROADCAST_H = 1 << 0, NPU_BROADCAST_W = 1 << 1, NPU_BROADCAST_C = 1 << 2 };

/** An operand, decoded; its feature map is in struct npu_op. */
struct npu_operand {
    bool is_scalar;
    int32_t scalar;               /**< with its zero point subtracted */
    struct npu_input_scale scale; /**< 1 >> 0 by default */
};

struct npu_op;

/** Decode IFM or IFM2 as an operand for the OFM; does not change the scale. */
bool npu_decode_operand(struct npu *npu, struct npu_op *op, struct npu_operand *operand);
bool npu_decode_operand2(struct npu *npu, struct npu_op *op, struct npu_operand *operand);

/**
 * Read row y of an operand, broadcast to the OFM's row.
 *
 * @param row    as wide as the OFM's, zero point subtracted; must keep its contents from row 0 on
 * @param bytes  in place of it, for what npu_read_row_8() reads of an operand that is no scalar
 */
bool npu_operand_load(struct npu *npu, const struct npu_operand *operand,
                      const struct npu_feature_map *map, const struct npu_feature_map *ofm,
                      uint32_t y, int32_t *row, uint8_t *bytes);

/** Scale one value. */
static inline int64_t npu_operand_scale(const struct npu_input_scale *scale, int64_t value)
{
    return npu_round_scale(value * ((int64_t)1 << scale->before), scale->scale, scale->rounding);
}

static inline bool npu_is_unit(struct npu_scale scale)
{
    return scale.multiplier == 1 && scale.shift == 0;
}

#endif
