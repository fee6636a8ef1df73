// SPDX-License-Identifier: MIT
/** The operands of ELEMENTWISE: a feature map, broadcast or not, or one number; and their scale. */
#ifndef NPU_OPERAND_H
#define NPU_OPERAND_H

#include <stdbool.h>
#include <stdint.h>

#include "output.h"

enum { NPU_BROADCAST_H = 1 << 0, NPU_BROADCAST_W = 1 << 1, NPU_BROADCAST_C = 1 << 2 };

struct npu_operand {
    struct npu_feature_map map; /**< height, width, depth are 1 where it is broadcast */
    bool is_scalar;
    int32_t scalar;               /**< with its zero point subtracted */
    struct npu_input_scale scale; /**< 1 >> 0 where there is none */
    int32_t *row;                 /**< as wide as the OFM's, zero point subtracted */
};

/** Decode IFM or IFM2 as an operand for this OFM; the scale is left as it is. */
bool npu_decode_operand(struct npu *npu, struct npu_operand *operand,
                        const struct npu_feature_map *ofm);
bool npu_decode_operand2(struct npu *npu, struct npu_operand *operand,
                         const struct npu_feature_map *ofm);

/** Bring row y, spread over the OFM's row. */
bool npu_operand_load(struct npu *npu, const struct npu_operand *operand,
                      const struct npu_feature_map *ofm, uint32_t y);

/** One value, scaled. */
static inline int64_t npu_operand_scale(const struct npu_input_scale *scale, int64_t value)
{
    return npu_round_scale(value * ((int64_t)1 << scale->before), scale->scale, scale->rounding);
}

static inline bool npu_is_unit(struct npu_scale scale)
{
    return scale.multiplier == 1 && scale.shift == 0;
}

#endif
