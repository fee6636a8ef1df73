// SPDX-License-Identifier: MIT
/** EQUAL, NOT_EQUAL, GREATER, GREATER_EQUAL, LESS, LESS_EQUAL, and SELECT_V2. */
#include "runtime/kernels/shared/element.h"
#include "runtime/build/nd.h"
#include "runtime/kernels/shared/quantization.h"

#include <string.h>

/** Orders of two values; an operator is the set of orders for which it is true. */
enum { LESSER = 1, SAME = 2, LARGER = 4 };

/** Bits of a float's mantissa that it stores, and of an int16 number times a mantissa. */
enum { FRACTION = 23, PRODUCT = 15 + FRACTION + 1 };

/** How numbers are compared. */
enum compare_way {
    AS_THEY_ARE,
    ROUNDED, /**< scaled and rounded to 1/256, like the reference's 8-bit numbers */
    REAL,    /**< exactly; the reference compares int16 without scales */
};

struct compare {
    struct kernel_call call;
    const void *input[2];
    uint8_t *output;
    uint32_t type;
    uint32_t element_size;
    uint8_t allowed;
    uint8_t way;
    uint8_t coarse;      /**< REAL: the input whose products are 2^shift times larger */
    uint32_t shift;      /**< REAL */
    int32_t mantissa[2]; /**< REAL: of the scales */
    int32_t offset[2];
    struct rescale scale[2];
    struct nd_walk walk;
};

static uint32_t order_of_floats(const struct compare *p, const void *a, const void *b)
{
    (void)p;
    float x = *(const float *)a;
    float y = *(const float *)b;
    return x < y ? LESSER : x > y ? LARGER : x == y ? SAME : 0;
}

/** The order of a * 2^shift and b. */
static uint32_t order_of_products(int64_t a, int64_t b, uint32_t shift)
{
    int64_t whole = b >> shift;
    bool has_rest = b != whole * ((int64_t)1 << shift);
    return a < whole ? LESSER : a > whole ? LARGER : has_rest ? LESSER : SAME;
}

static uint32_t order_of_reals(const struct compare *p, int32_t x, int32_t y)
{
    int64_t product[2] = {(int64_t)x * p->mantissa[0], (int64_t)y * p->mantissa[1]};
    uint32_t order = order_of_products(product[p->coarse], product[1 - p->coarse], p->shift);
    bool turned = p->coarse == 1;
    return !turned || order == SAME ? order : order == LESSER ? LARGER : LESSER;
}

static uint32_t order_of_integers(const struct compare *p, const void *a, const void *b)
{
    int32_t x = element_load(a, 0, p->type);
    int32_t y = element_load(b, 0, p->type);
    if (p->way == REAL) {
        return order_of_reals(p, x, y);
    }
    if (p->way == ROUNDED) {
        x = fixed_rescale(fixed_shift_left(x + p->offset[0], 8), p->scale[0]);
        y = fixed_rescale(fixed_shift_left(y + p->offset[1], 8), p->scale[1]);
    }
    return x < y ? LESSER : x > y ? LARGER : SAME;
}

/** Elements first to end of a row. */
static void compare_row(const struct compare *p, const struct nd_cursor *cursor, int32_t first,
                        int32_t end)
{
    const struct nd_dimension *row = &p->walk.dimension[0];
    bool real = p->type == ETHOSU_TYPE_FLOAT32;
    const void *a = element_at(p->input[0], cursor->offset[1], p->element_size);
    const void *b = element_at(p->input[1], cursor->offset[2], p->element_size);
    for (int32_t i = first; i < end; i++) {
        const void *x = element_at(a, i * row->stride[1], p->element_size);
        const void *y = element_at(b, i * row->stride[2], p->element_size);
        uint32_t order = real ? order_of_floats(p, x, y) : order_of_integers(p, x, y);
        uint32_t unordered = order == 0 && p->allowed == (LESSER | LARGER);
        p->output[cursor->offset[0] + i] = (order & p->allowed) != 0 || unordered;
    }
}

static int run_compare(const struct kernel_call *call)
{
    const struct compare *p = (const struct compare *)call;
    struct nd_cursor cursor = {0};
    do {
        KERNEL_BLOCKS(call, first, end, p->walk.dimension[0].extent)
        {
            compare_row(p, &cursor, first, end);
        }
    } while (!kernel_is_stopped(call) && nd_next(&p->walk, &cursor));
    return ETHOSU_MODEL_OK;
}

static int prepare_rounded(struct builder *builder, const struct kernel_tensor *in,
                           struct compare *p)
{
    for (int i = 0; i < 2; i++) {
        TRY(need_quantized(builder, &in[i]));
        p->offset[i] = -in[i].zero_point;
        TRY(need_rescale(builder, (double)in[i].scale, &p->scale[i]));
    }
    return ETHOSU_MODEL_OK;
}

static int prepare_real(struct builder *builder, const struct kernel_tensor *in, struct compare *p)
{
    int32_t exponent[2];
    for (int i = 0; i < 2; i++) {
        TRY(need_quantized(builder, &in[i]));
        uint32_t bits;
        memcpy(&bits, &in[i].scale, sizeof bits);
        uint32_t first = bits >> FRACTION != 0; // the bit that is not stored; none if subnormal
        p->mantissa[i] = (int32_t)((bits & ((1u << FRACTION) - 1)) | first << FRACTION);
        exponent[i] = fixed_max((int32_t)(bits >> FRACTION), 1);
    }
    p->coarse = exponent[1] > exponent[0];
    int32_t shift = exponent[p->coarse] - exponent[1 - p->coarse];
    // Further apart, one product times 2^shift is larger than any other one, or 0.
    p->shift = (uint32_t)fixed_min(shift, PRODUCT);
    return ETHOSU_MODEL_OK;
}

static enum compare_way way_of(const struct kernel_tensor *in)
{
    if (in[0].type == ETHOSU_TYPE_INT8 || in[0].type == ETHOSU_TYPE_UINT8) {
        return ROUNDED;
    }
    bool scaled = in[0].type == ETHOSU_TYPE_INT16 && in[0].channels > 0 && in[1].channels > 0;
    return scaled && in[0].scale != in[1].scale ? REAL : AS_THEY_ARE;
}

static int prepare_compare(struct builder *builder, const struct tflite_operator_call *call,
                           const struct kernel *kernel)
{
    struct kernel_tensor in[2];
    struct kernel_tensor out;
    struct range range;
    TRY(kernel_tensors(builder, call, in, 2, &out, 1));
    bool known = in[0].type == ETHOSU_TYPE_FLOAT32 || in[0].type == ETHOSU_TYPE_BOOL ||
                 range_of_type(in[0].type, &range);
    if (!known || in[0].type != in[1].type || out.type != ETHOSU_TYPE_BOOL) {
        return kernel_bad_type(builder);
    }
    struct compare p = {
        .input = {in[0].data, in[1].data},
        .output = out.data,
        .type = in[0].type,
        .element_size = in[0].element_size,
        .allowed = *(const uint8_t *)kernel->variant,
        .way = (uint8_t)way_of(in),
    };
    if (p.way == ROUNDED) {
        TRY(prepare_rounded(builder, in, &p));
    } else if (p.way == REAL) {
        TRY(prepare_real(builder, in, &p));
    }
    if (!nd_broadcast(&p.walk, &out, in, 2)) {
        return kernel_bad(builder, "shapes can't be broadcast to the output's");
    }
    return kernel_add(builder, kernel, &p.call, nd_block_size(&p, &p.walk));
}

#define DEFINE_COMPARE(name, orders)                                    \
    DEFINE_KERNEL(name, .prepare = prepare_compare, .run = run_compare, \
                  .variant = &(const uint8_t){orders})

DEFINE_COMPARE(EQUAL, SAME);
DEFINE_COMPARE(NOT_EQUAL, LESSER | LARGER);
DEFINE_COMPARE(GREATER, LARGER);
DEFINE_COMPARE(GREATER_EQUAL, LARGER | SAME);
DEFINE_COMPARE(LESS, LESSER);
DEFINE_COMPARE(LESS_EQUAL, LESSER | SAME);

/* ---- SELECT_V2 ---- */

struct select {
    struct kernel_call call;
    const void *input[3]; /**< condition, values where true, values where false */
    void *output;
    uint32_t element_size;
    struct nd_walk walk;
};

/** Elements first to end of a row. */
static void select_row(const struct select *p, const struct nd_cursor *cursor, int32_t first,
                       int32_t end)
{
    const struct nd_dimension *row = &p->walk.dimension[0];
    const uint8_t *condition = (const uint8_t *)p->input[0] + cursor->offset[1];
    for (int32_t i = first; i < end; i++) {
        int k = condition[i * row->stride[1]] != 0 ? 1 : 2;
        int32_t from = cursor->offset[k + 1] + i * row->stride[k + 1];
        memcpy(element_at(p->output, cursor->offset[0] + i, p->element_size),
               element_at(p->input[k], from, p->element_size), p->element_size);
    }
}

static int run_select(const struct kernel_call *call)
{
    const struct select *p = (const struct select *)call;
    struct nd_cursor cursor = {0};
    do {
        KERNEL_BLOCKS(call, first, end, p->walk.dimension[0].extent)
        {
            select_row(p, &cursor, first, end);
        }
    } while (!kernel_is_stopped(call) && nd_next(&p->walk, &cursor));
    return ETHOSU_MODEL_OK;
}

static int prepare_select(struct builder *builder, const struct tflite_operator_call *call,
                          const struct kernel *kernel)
{
    struct kernel_tensor in[3];
    struct kernel_tensor out;
    TRY(kernel_tensors(builder, call, in, 3, &out, 1));
    if (in[0].type != ETHOSU_TYPE_BOOL || in[1].type != out.type || in[2].type != out.type) {
        return kernel_bad_type(builder);
    }
    struct select p = {
        .input = {in[0].data, in[1].data, in[2].data},
        .output = out.data,
        .element_size = out.element_size,
    };
    if (!nd_broadcast(&p.walk, &out, in, 3)) {
        return kernel_bad(builder, "shapes can't be broadcast to the output's");
    }
    return kernel_add(builder, kernel, &p.call, nd_block_size(&p, &p.walk));
}

DEFINE_KERNEL(SELECT_V2, .prepare = prepare_select, .run = run_select);
