// SPDX-License-Identifier: MIT
/** What CONV and DEPTHWISE share. */
#ifndef NPU_CONV_H
#define NPU_CONV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "npu_sim.h"

/** Inputs whose products with any weight can't overflow a 32-bit sum; at least 256 if 16-bit. */
int64_t npu_sum_limit(const struct npu_feature_map *ifm);

struct npu_output;

/** Refuse a 32-bit IFM, and OFM_SCALE for all channels where no compiler asks for it. */
bool npu_check_scaling(struct npu *npu, const struct npu_output *output,
                       const struct npu_feature_map *ifm);

/** Magnitude that a sum over so many inputs cannot exceed. */
int64_t npu_largest_sum(const struct npu_feature_map *ifm, size_t inputs);

#endif
