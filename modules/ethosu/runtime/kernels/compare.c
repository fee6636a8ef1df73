// SPDX-License-Identifier: MIT
/** EQUAL, NOT_EQUAL, GREATER, GREATER_EQUAL, LESS, LESS_EQUAL, and SELECT_V2. */
#include "element.h"
#include "nd.h"
#include "quantization.h"

#include <string.h>

/** Orders of two values; an operator is the set of orders for which it is true. */
enum { LESSER = 1, SAME = 2, LARGER = 4 };

struct compare {
    struct kernel_call call;
    const void *input[2];
    uint8_t *output;
    uint32_t type;
    uint32_t element_size;
    uint8_t allowed;
    bool scaled;
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

static uint32_t order_of_integers(const struct compare *p, const void *a, const void *b)
{
    int32_t x = element_load(a, 0, p->type);
    int32_t y = element_load(b, 0, p->type);
    if (p->scaled) {
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
        return kernel_bad_type(builder, &in[0]);
    }
    struct compare p = {
        .input = {in[0].data, in[1].data},
        .output = out.data,
        .type = in[0].type,
        .element_size = in[0].element_size,
        .allowed = *(const uint8_t *)kernel->variant,
        .scaled = in[0].type == ETHOSU_TYPE_INT8 || in[0].type == ETHOSU_TYPE_UINT8,
    };
    for (int i = 0; i < 2 && p.scaled; i++) {
        TRY(need_quantized(builder, &in[i]));
        p.offset[i] = -in[i].zero_point;
        TRY(need_rescale(builder, (double)in[i].scale, &p.scale[i]));
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
        return kernel_bad_type(builder, &in[0]);
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
