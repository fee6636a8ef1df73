// SPDX-License-Identifier: MIT
/** The modes of ELEMENTWISE, on rows of scaled operands. */
#include "operators/elementwise.h"

#define ROW(name)                                                                 \
    static void name(const struct npu_elementwise_terms *terms, const int64_t *a, \
                     const int64_t *b, size_t count, int64_t *out)

/** Compute a row of `expression` in a[i] and b[i]. */
#define SIMPLE(name, expression)             \
    ROW(name)                                \
    {                                        \
        (void)terms;                         \
        (void)b;                             \
        for (size_t i = 0; i < count; i++) { \
            out[i] = (expression);           \
        }                                    \
    }

SIMPLE(compute_mul, npu_saturate64((npu_int128)a[i] * b[i]))
SIMPLE(compute_add, npu_saturate64((npu_int128)a[i] + b[i]))
SIMPLE(compute_sub, npu_saturate64((npu_int128)a[i] - b[i]))
SIMPLE(compute_min, a[i] < b[i] ? a[i] : b[i])
SIMPLE(compute_max, a[i] > b[i] ? a[i] : b[i])
SIMPLE(compute_abs, npu_saturate64(a[i] < 0 ? -(npu_int128)a[i] : a[i]))
SIMPLE(compute_clz, (uint32_t)a[i] == 0 ? 32 : __builtin_clz((uint32_t)a[i]))
SIMPLE(compute_and, a[i] & b[i])
SIMPLE(compute_or, a[i] | b[i])
SIMPLE(compute_xor, a[i] ^ b[i])
SIMPLE(compute_not, ~a[i])
SIMPLE(compute_and_not, a[i] & ~b[i])

/* True is all ones. */
SIMPLE(compute_eq, -(int64_t)(a[i] == b[i]))
SIMPLE(compute_ne, -(int64_t)(a[i] != b[i]))
SIMPLE(compute_ge, -(int64_t)(a[i] >= b[i]))
SIMPLE(compute_gt, -(int64_t)(a[i] > b[i]))

/** Toward zero. The hardware's result of a division by 0 is unknown; 0 here. */
SIMPLE(compute_div, b[i] == 0 ? 0 : npu_saturate64((npu_int128)a[i] / b[i]))

SIMPLE(compute_shl, (int32_t)(uint32_t)((uint64_t)(uint32_t)a[i] << npu_clamp(b[i], 0, 32)))
SIMPLE(compute_lsr, (int32_t)(uint32_t)((uint64_t)(uint32_t)a[i] >> npu_clamp(b[i], 0, 32)))

ROW(compute_shr)
{
    for (size_t i = 0; i < count; i++) {
        struct npu_scale scale = {1, (uint8_t)npu_clamp(b[i], 0, 63)};
        out[i] = npu_round_scale(a[i], scale, terms->rounding);
    }
}

ROW(compute_lrelu)
{
    (void)b;
    for (size_t i = 0; i < count; i++) {
        out[i] = npu_operand_scale(a[i] < 0 ? &terms->negative : &terms->positive, a[i]);
    }
}

enum { UNARY = false, BINARY = true, AS_IT_IS = false, SCALED };

const struct npu_elementwise_mode_row npu_elementwise_modes[NPU_EW_MODES] = {
    [NPU_EW_MUL] = {compute_mul, BINARY, NPU_EW_ANY_SIZE, SCALED},
    [NPU_EW_ADD] = {compute_add, BINARY, NPU_EW_ANY_SIZE, SCALED},
    [NPU_EW_SUB] = {compute_sub, BINARY, NPU_EW_ANY_SIZE, SCALED},
    [NPU_EW_MIN] = {compute_min, BINARY, NPU_EW_ANY_SIZE, AS_IT_IS},
    [NPU_EW_MAX] = {compute_max, BINARY, NPU_EW_ANY_SIZE, AS_IT_IS},
    [NPU_EW_LRELU] = {compute_lrelu, UNARY, NPU_EW_ANY_SIZE, AS_IT_IS},
    [NPU_EW_ABS] = {compute_abs, UNARY, NPU_EW_ANY_SIZE, SCALED},
    [NPU_EW_CLZ] = {compute_clz, UNARY, NPU_EW_ONLY_32, AS_IT_IS},
    [NPU_EW_SHR] = {compute_shr, BINARY, NPU_EW_SHIFTED, AS_IT_IS},
    [NPU_EW_SHL] = {compute_shl, BINARY, NPU_EW_SHIFTED, AS_IT_IS},
    [NPU_EW_LSR] = {compute_lsr, BINARY, NPU_EW_ONLY_32, AS_IT_IS},
    [NPU_EW_DIV] = {compute_div, BINARY, NPU_EW_ONLY_32, AS_IT_IS},
    [NPU_EW_CMP_EQ] = {compute_eq, BINARY, NPU_EW_ANY_SIZE, AS_IT_IS},
    [NPU_EW_CMP_NE] = {compute_ne, BINARY, NPU_EW_ANY_SIZE, AS_IT_IS},
    [NPU_EW_CMP_GE] = {compute_ge, BINARY, NPU_EW_ANY_SIZE, AS_IT_IS},
    [NPU_EW_CMP_GT] = {compute_gt, BINARY, NPU_EW_ANY_SIZE, AS_IT_IS},
    [NPU_EW_AND] = {compute_and, BINARY, NPU_EW_ANY_SIZE, AS_IT_IS},
    [NPU_EW_OR] = {compute_or, BINARY, NPU_EW_ANY_SIZE, AS_IT_IS},
    [NPU_EW_XOR] = {compute_xor, BINARY, NPU_EW_ANY_SIZE, AS_IT_IS},
    [NPU_EW_NOT] = {compute_not, UNARY, NPU_EW_ANY_SIZE, AS_IT_IS},
    [NPU_EW_AND_NOT] = {compute_and_not, BINARY, NPU_EW_ANY_SIZE, AS_IT_IS},
};
