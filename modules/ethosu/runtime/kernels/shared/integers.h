// SPDX-License-Identifier: MIT
/** Constant tensors of integers that parametrise an operator: axes, paddings, bounds. */
#ifndef INTEGERS_H
#define INTEGERS_H

#include "runtime/kernels/shared/kernel.h"

/** Maximum number of integers in an operator's constant: two per dimension. */
#define INTEGERS_MAX (2u * ETHOSU_MODEL_MAX_RANK)

struct integers {
    uint32_t count;
    int32_t value[INTEGERS_MAX];
};

/** Is this int16, int32 or int64? */
bool integer_type(uint32_t type);

/** Element of a tensor of one of these types. */
int64_t integer_at(const void *data, uint32_t type, int32_t index);

/**
 * Read a constant input; values beyond 32 bits are clamped.
 *
 * @param count  expected number; 0 for any number up to ETHOSU_MODEL_MAX_RANK
 */
int integers_read(struct builder *builder, const struct tflite_operator_call *call, uint32_t index,
                  uint32_t count, struct integers *integers);

#endif
