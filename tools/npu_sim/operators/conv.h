// SPDX-License-Identifier: MIT
/** Declarations shared by CONV and DEPTHWISE. */
#ifndef NPU_CONV_H
#define NPU_CONV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "npu_sim.h"

struct npu_op;

/** Decode everything except the weights. */
bool npu_decode_conv(struct npu *npu, struct npu_op *op);

/** Inputs whose products with any weight can't overflow a 32-bit sum; at least 256 if 16-bit. */
int64_t npu_sum_limit(const struct npu_feature_map *ifm);

/** Upper bound of the magnitude of a sum over this many inputs. */
int64_t npu_largest_sum(const struct npu_feature_map *ifm, size_t inputs);

#endif
