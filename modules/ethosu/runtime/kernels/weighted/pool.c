// SPDX-License-Identifier: MIT
/** AVERAGE_POOL_2D and MAX_POOL_2D, of int8, uint8 and int16. */
#include "runtime/kernels/weighted/pool.h"

#include "runtime/kernels/shared/element.h"

/** Fields of the options. */
enum { OPTION_WIDTH = 3, OPTION_HEIGHT = 4, OPTION_ACTIVATION = 5 };

static const struct window_fields window_fields = {.padding = 0, .stride_w = 1, .stride_h = 2};

/** The part of a window that is inside the image. */
struct span {
    int32_t first;
    int32_t end;
};

static struct span clip(const struct window *window, int32_t position)
{
    int32_t origin = window_origin(window, position);
    return (struct span){fixed_max(origin, 0), fixed_min(origin + window->size, window->input)};
}

/** Intermediate result of a window. */
struct pooled {
    int32_t largest;
    int64_t sum;
};

ELEMENT_INLINE void pool_part(const struct pool *p, int32_t batch, struct span y, struct span x,
                              int32_t channel, uint32_t type, struct pooled *pooled)
{
    for (int32_t i = y.first; i < y.end; i++) {
        int32_t line = (batch * p->window.y.input + i) * p->window.x.input;
        for (int32_t k = x.first; k < x.end; k++) {
            int32_t value = element_load(p->input, (line + k) * p->depth + channel, type);
            pooled->largest = fixed_max(pooled->largest, value);
            pooled->sum += value;
        }
    }
}

/** A window of many elements, line by line. */
ELEMENT_INLINE void pool_large(const struct pool *p, int32_t batch, struct span y, struct span x,
                               int32_t channel, uint32_t type, struct pooled *pooled)
{
    for (int32_t i = y.first; i < y.end && !kernel_is_stopped(&p->call); i++) {
        KERNEL_BLOCKS(&p->call, first, end, x.end - x.first)
        {
            struct span part = {x.first + first, x.first + end};
            pool_part(p, batch, (struct span){i, i + 1}, part, channel, type, pooled);
        }
    }
}

ELEMENT_INLINE int32_t pool_channel(const struct pool *p, int32_t batch, struct span y,
                                    struct span x, int32_t channel, uint32_t type)
{
    int32_t count = (y.end - y.first) * (x.end - x.first);
    struct pooled pooled = {.largest = p->range.low};
    if (count > KERNEL_BLOCK) {
        pool_large(p, batch, y, x, channel, type, &pooled);
    } else {
        pool_part(p, batch, y, x, channel, type, &pooled);
    }
    if (!p->average) {
        return pooled.largest;
    }
    int32_t half = pooled.sum > 0 ? count / 2 : -(count / 2);
    return (int32_t)((pooled.sum + half) / count);
}

static int run_pool(const struct kernel_call *call)
{
    const struct pool *p = (const struct pool *)call;
    const struct window_2d *window = &p->window;
    int32_t pixels = p->batches * window->y.output * window->x.output;
    for (int32_t pixel = 0; pixel < pixels; pixel++) {
        int32_t line = pixel / window->x.output;
        struct span y = clip(&window->y, line % window->y.output);
        struct span x = clip(&window->x, pixel % window->x.output);
        int32_t work = fixed_min((y.end - y.first) * (x.end - x.first), KERNEL_BLOCK);
        int32_t batch = line / window->y.output;
        for (int32_t i = 0; i < p->depth; i++) {
            int32_t value =
                p->type == ETHOSU_TYPE_INT8    ? pool_channel(p, batch, y, x, i, ETHOSU_TYPE_INT8)
                : p->type == ETHOSU_TYPE_UINT8 ? pool_channel(p, batch, y, x, i, ETHOSU_TYPE_UINT8)
                                               : pool_channel(p, batch, y, x, i, ETHOSU_TYPE_INT16);
            element_store(p->output, pixel * p->depth + i, p->type,
                          fixed_clamp(value, p->range.low, p->range.high));
            if (kernel_stops(call, work)) {
                return ETHOSU_MODEL_STOPPED;
            }
        }
    }
    return ETHOSU_MODEL_OK;
}

static int check(struct builder *builder, const struct kernel_tensor *in,
                 const struct kernel_tensor *out)
{
    if (in->type != out->type) {
        return kernel_bad_type(builder);
    }
    if (in->rank != 4 || out->rank != 4 || in->shape[0] != out->shape[0] ||
        in->shape[3] != out->shape[3]) {
        return kernel_bad(builder, "shapes do not match");
    }
    // The reference does not rescale here.
    return in->scale == out->scale && in->zero_point == out->zero_point
               ? need_quantized(builder, out)
               : kernel_unsupported(builder, "input and output differ in quantisation");
}

static int prepare_pool(struct builder *builder, const struct tflite_operator_call *call,
                        const struct kernel *kernel)
{
    struct kernel_tensor in;
    struct kernel_tensor out;
    struct pool p = {.average = kernel->code == TFLITE_AVERAGE_POOL_2D};
    uint32_t activation = kernel_option_byte(builder, call, OPTION_ACTIVATION, 0);
    TRY(kernel_tensors(builder, call, &in, 1, &out, 1));
    TRY(check(builder, &in, &out));
    TRY(window_2d_prepare(builder, call, &window_fields, &in,
                          kernel_option(builder, call, OPTION_HEIGHT, 0),
                          kernel_option(builder, call, OPTION_WIDTH, 0), &p.window));
    if (out.shape[1] != p.window.y.output || out.shape[2] != p.window.x.output) {
        return kernel_bad(builder, "shapes do not match");
    }
    TRY(range_of_activation(builder, activation, &out, &p.range));
    p.input = in.data;
    p.output = out.data;
    p.batches = in.shape[0];
    p.depth = in.shape[3];
    p.type = in.type;
    return kernel_add(builder, kernel, &p.call, sizeof p);
}

DEFINE_KERNEL(AVERAGE_POOL_2D, .prepare = prepare_pool, .run = run_pool);
DEFINE_KERNEL(MAX_POOL_2D, .prepare = prepare_pool, .run = run_pool);
