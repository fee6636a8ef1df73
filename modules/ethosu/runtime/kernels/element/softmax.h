// SPDX-License-Identifier: MIT
/** The block of SOFTMAX. */
#ifndef SOFTMAX_H
#define SOFTMAX_H

#include "runtime/kernels/shared/quantization.h"

/** Integer bits of a difference between inputs, which is at most 31. */
#define SOFTMAX_INTEGER_BITS 5

struct softmax {
    struct kernel_call call;
    const void *input;
    void *output;
    int32_t rows;
    int32_t depth;
    struct rescale scale;   /**< of differences between inputs */
    int32_t min_difference; /**< exponentials of smaller differences count as 0 */
    uint8_t flip;           /**< 0x80: uint8 as int8 and back, the order preserved; else 0 */
    bool wide_input;
    bool wide_output;
    const int16_t *exp_table;        /**< exp(x), x from -10 to 0 */
    const int16_t *reciprocal_table; /**< 1 / (1 + x), x from 0 to 1 */
};

/** The lowest int8 difference that counts, if differences are shifted by `shift` bits. */
static inline int32_t softmax_min_difference(int32_t shift)
{
    const int32_t most = (1 << SOFTMAX_INTEGER_BITS) - 1;
    return -((most << (31 - SOFTMAX_INTEGER_BITS)) >> shift);
}

#endif
