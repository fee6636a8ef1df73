// SPDX-License-Identifier: MIT
/**
 * dim_order_ops::_to_dim_order_copy, aten::_to_copy and aten::copy_ between tensors of different
 * types, with the results of ExecuTorch's portable kernels (kernels/portable/cpu of
 * pytorch/executorch 1.5), which use C++'s conversions:
 *
 *     integer to integer  its lowest bits
 *     real to integer     rounded towards zero
 *     to bool             false only for 0; NaN is true
 *     to float16          through float32; ties to even
 *
 * Undefined there: numbers that an integer cannot hold are clamped to its limits, NaN becomes 0.
 */
#include "executorch/build/program_operators.h"

#include "driver/base/ethosu_count.h"
#include "runtime/build/nd.h"

#include <math.h>
#include <string.h>

struct conversion {
    struct kernel_call call;
    void *output;
    const void *input;
    uint8_t to; /**< enum ethosu_model_type */
    uint8_t from;
    struct nd_walk walk;
};

enum kind { KIND_NONE, KIND_BOOL, KIND_SIGNED, KIND_UNSIGNED, KIND_REAL };

/** Of the types that the portable kernels convert. */
static const uint8_t kinds[] = {
    [ETHOSU_TYPE_BOOL] = KIND_BOOL,    [ETHOSU_TYPE_UINT8] = KIND_UNSIGNED,
    [ETHOSU_TYPE_INT8] = KIND_SIGNED,  [ETHOSU_TYPE_INT16] = KIND_SIGNED,
    [ETHOSU_TYPE_INT32] = KIND_SIGNED, [ETHOSU_TYPE_INT64] = KIND_SIGNED,
    [ETHOSU_TYPE_FLOAT16] = KIND_REAL, [ETHOSU_TYPE_FLOAT32] = KIND_REAL,
    [ETHOSU_TYPE_FLOAT64] = KIND_REAL,
};

static enum kind kind_of(uint32_t type)
{
    return type < COUNT(kinds) ? (enum kind)kinds[type] : KIND_NONE;
}

/* ---- float16: 1 bit of sign, 5 of exponent, 10 of fraction ---- */

enum {
    HALF_BIAS = 127 - 15, /**< of a float32's exponent over a float16's */
    CUT = 23 - 10,        /**< bits of its fraction that a float16 lacks */
};

static uint32_t to_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float load_half(uint16_t half)
{
    uint32_t rest = half & 0x7FFFu;
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
    uint32_t bits = rest < 0x400    ? to_bits((float)rest * 0x1p-24F) // no leading 1
                    : rest < 0x7C00 ? (rest << CUT) + (HALF_BIAS << 23)
                                    : rest << CUT | 0x7F800000u; // infinity, NaN
    return from_bits(sign | bits);
}

static uint16_t store_half(float value)
{
    uint32_t bits = to_bits(value) & 0x7FFFFFFFu;
    uint32_t sign = to_bits(value) >> 16 & 0x8000u;
    uint32_t half;
    if (bits > 0x7F800000u) {
        half = 0x7E00; // NaN
    } else if (bits >= to_bits(65536.0F)) {
        half = 0x7C00; // infinity
    } else if (bits < to_bits(0x1p-14F)) {
        half = to_bits(from_bits(bits) + 0.5F) - to_bits(0.5F); // the last bit of 0.5 is 2^-24
    } else {
        bits += (1u << (CUT - 1)) - 1 + (bits >> CUT & 1);
        half = (bits >> CUT) - (HALF_BIAS << 10);
    }
    return (uint16_t)(sign | half);
}

/* ---- one number ---- */

static double load_real(const uint8_t *from, uint32_t type)
{
    uint16_t half;
    float single;
    double real;
    if (type == ETHOSU_TYPE_FLOAT16) {
        memcpy(&half, from, sizeof half);
        return (double)load_half(half);
    }
    if (type == ETHOSU_TYPE_FLOAT32) {
        memcpy(&single, from, sizeof single);
        return (double)single;
    }
    memcpy(&real, from, sizeof real);
    return real;
}

static void store_real(uint8_t *to, uint32_t type, double real, float single)
{
    uint16_t half = store_half(single);
    const void *value = type == ETHOSU_TYPE_FLOAT16   ? (const void *)&half
                        : type == ETHOSU_TYPE_FLOAT32 ? (const void *)&single
                                                      : &real;
    memcpy(to, value, ethosu_model_type_size(type));
}

/** Read an integer or a bool; both ends are little-endian, as files are. */
static int64_t load_integer(const uint8_t *from, uint32_t type)
{
    uint64_t bits = 0;
    uint32_t size = ethosu_model_type_size(type);
    memcpy(&bits, from, size);
    uint32_t above = 64 - 8 * size;
    return kind_of(type) == KIND_SIGNED ? (int64_t)(bits << above) >> above
           : kind_of(type) == KIND_BOOL ? bits != 0
                                        : (int64_t)bits;
}

/** The integer that a real number becomes. */
static int64_t truncate(double real, uint32_t type)
{
    bool is_signed = kind_of(type) == KIND_SIGNED;
    uint64_t values = UINT64_C(1) << (8 * ethosu_model_type_size(type) - is_signed);
    double end = (double)values;
    double start = is_signed ? -end : (double)0;
    return isnan(real)     ? 0
           : real >= end   ? (int64_t)(values - 1)
           : real <= start ? (int64_t)start
                           : (int64_t)real;
}

static void convert(const struct conversion *p, uint8_t *to, const uint8_t *from)
{
    bool real = kind_of(p->from) == KIND_REAL;
    double number = real ? load_real(from, p->from) : (double)0;
    int64_t integer = real ? 0 : load_integer(from, p->from);
    if (kind_of(p->to) == KIND_REAL) {
        store_real(to, p->to, real ? number : (double)integer,
                   real ? (float)number : (float)integer); // one rounding each
        return;
    }
    if (kind_of(p->to) == KIND_BOOL) {
        *to = real ? number != 0 : integer != 0;
        return;
    }
    integer = real ? truncate(number, p->to) : integer;
    memcpy(to, &integer, ethosu_model_type_size(p->to));
}

/* ---- all of them ---- */

static int run_conversion(const struct kernel_call *call)
{
    const struct conversion *p = (const struct conversion *)call;
    const struct nd_dimension *row = &p->walk.dimension[0];
    const ptrdiff_t to_size = (ptrdiff_t)ethosu_model_type_size(p->to);
    const ptrdiff_t from_size = (ptrdiff_t)ethosu_model_type_size(p->from);
    struct nd_cursor cursor = {0};
    do {
        uint8_t *to = (uint8_t *)p->output + cursor.offset[0] * to_size;
        const uint8_t *from = (const uint8_t *)p->input + cursor.offset[1] * from_size;
        KERNEL_BLOCKS(call, first, end, row->extent)
        {
            for (int32_t i = first; i < end; i++) {
                convert(p, to + i * row->stride[0] * to_size,
                        from + i * row->stride[1] * from_size);
            }
        }
    } while (!kernel_is_stopped(call) && nd_next(&p->walk, &cursor));
    return ETHOSU_MODEL_OK;
}

static int refuse_types(struct program_builder *program, uint32_t from, uint32_t to)
{
    struct ethosu_model_error why;
    error_set(&why, 0, "converts %s to %s: expected bool, int8 to int64, uint8, or float",
              ethosu_model_type_name(from), ethosu_model_type_name(to));
    return program_refuse(program, ETHOSU_MODEL_UNSUPPORTED, why.text);
}

int program_convert(struct program_builder *program, const struct program_operand *in,
                    const struct program_operand *out)
{
    static const struct kernel kernel = {.run = run_conversion};
    const struct program_tensor *from = &in->tensor;
    const struct program_tensor *to = &out->tensor;
    int32_t strides[2][ETHOSU_MODEL_MAX_RANK];
    struct conversion p = {
        .output = out->data,
        .input = in->data,
        .to = (uint8_t)to->type,
        .from = (uint8_t)from->type,
        .walk.rank = to->rank,
    };
    if (kind_of(from->type) == KIND_NONE || kind_of(to->type) == KIND_NONE) {
        return refuse_types(program, from->type, to->type);
    }
    if (from->rank != to->rank) {
        return program_refuse_shapes(program);
    }
    TRY(program_check_apart(program, in, out));
    program_strides(to, strides[0]);
    program_strides(from, strides[1]);
    for (uint32_t i = 0; i < to->rank; i++) {
        uint32_t axis = to->order[to->rank - 1 - i]; // in the order of the output's bytes
        p.walk.dimension[i] =
            (struct nd_dimension){to->shape[axis], {strides[0][axis], strides[1][axis]}};
        if (from->shape[axis] != to->shape[axis]) {
            return program_refuse_shapes(program);
        }
    }
    nd_simplify(&p.walk);
    return kernel_add_step(program->builder, &kernel, &p.call, nd_block_size(&p, &p.walk));
}
