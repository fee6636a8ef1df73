// SPDX-License-Identifier: MIT
/** The ELEMENTWISE modes: one table row per mode. */
#ifndef NPU_ELEMENTWISE_H
#define NPU_ELEMENTWISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "operands/operand.h"

enum npu_elementwise_mode {
    NPU_EW_MUL = 0,
    NPU_EW_ADD = 1,
    NPU_EW_SUB = 2,
    NPU_EW_MIN = 3,
    NPU_EW_MAX = 4,
    NPU_EW_LRELU = 5,
    NPU_EW_ABS = 6,
    NPU_EW_CLZ = 7,
    NPU_EW_SHR = 8,
    NPU_EW_SHL = 9,
    /* The following ones are Ethos-U85 only. */
    NPU_EW_LSR = 10,
    NPU_EW_DIV = 11,
    NPU_EW_CMP_EQ = 16,
    NPU_EW_CMP_NE = 17,
    NPU_EW_CMP_GE = 18,
    NPU_EW_CMP_GT = 19,
    NPU_EW_AND = 33,
    NPU_EW_OR = 34,
    NPU_EW_XOR = 35,
    NPU_EW_NOT = 36,
    NPU_EW_AND_NOT = 42,
    NPU_EW_MODES = 64
};

/** Parameters of a row besides its operands. */
struct npu_elementwise_terms {
    enum npu_rounding rounding;                /**< of the OFM; SHR uses it */
    struct npu_input_scale positive, negative; /**< LRELU: for values >= 0, and for negative ones */
};

/** Compute a row, before scaling with OFM_SCALE. a, b: scaled operands. */
typedef void npu_elementwise_row_t(const struct npu_elementwise_terms *terms, const int64_t *a,
                                   const int64_t *b, size_t count, int64_t *out);

/** Sizes of operands. */
enum npu_elementwise_sizes {
    NPU_EW_ANY_SIZE,
    NPU_EW_ONLY_32,
    NPU_EW_SHIFTED, /**< U85: any; U55 and U65: 32 bits */
};

struct npu_elementwise_mode_row {
    npu_elementwise_row_t *compute; /**< NULL if the mode does not exist */
    bool binary;
    enum npu_elementwise_sizes sizes;
    bool old_ofm_scale; /**< U55 and U65 scale the result with OFM_SCALE; U85 always does */
};

extern const struct npu_elementwise_mode_row npu_elementwise_modes[NPU_EW_MODES];

#endif
