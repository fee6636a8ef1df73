// SPDX-License-Identifier: MIT
/** RESIZE_NEAREST_NEIGHBOR of any type, RESIZE_BILINEAR of int8 and int16. */
#include "runtime/kernels/shared/element.h"
#include "runtime/kernels/shared/quantization.h"
#include "runtime/kernels/shape/resize_axis.h"

#include <string.h>

/** Fields of the options: corners and centres. */
enum { NEAREST_CORNERS = 0, BILINEAR_CORNERS = 2 };

struct resize {
    struct kernel_call call;
    struct resize_axis y;
    struct resize_axis x;
    const void *input;
    void *output;
    int32_t batches;
    int32_t depth;
    int32_t last; /**< pixel of the input, over all batches */
    uint32_t element_size;
    bool align_corners;
    bool half_pixel;
};

/* ---- nearest ---- */

static int32_t nearest(const struct resize *p, const struct resize_axis *axis, int32_t position)
{
    return resize_nearest(axis, position, p->half_pixel, p->align_corners);
}

static int run_nearest(const struct kernel_call *call)
{
    const struct resize *p = (const struct resize *)call;
    size_t pixel = (size_t)p->depth * p->element_size;
    uint8_t *output = p->output;
    for (int32_t line = 0; line < p->batches * p->y.output; line++) {
        int32_t y = nearest(p, &p->y, line % p->y.output) + line / p->y.output * p->y.input;
        for (int32_t x = 0; x < p->x.output; x++, output += pixel) {
            int32_t from = y * p->x.input + nearest(p, &p->x, x);
            if (!kernel_copy(call, output, (const uint8_t *)p->input + (size_t)from * pixel,
                             pixel)) {
                return ETHOSU_MODEL_STOPPED;
            }
        }
    }
    return ETHOSU_MODEL_OK;
}

/* ---- bilinear ---- */

/** Pixels with few channels between two polls. */
enum { PIXELS_AT_ONCE = 16 };

/**
 * First pixel of a row. With large outputs, the rounded step can lead past the last row or column,
 * where TensorFlow Lite keeps reading. This does the same inside the tensor; past its end, it uses
 * the last pixel.
 */
static int32_t find_row(const struct resize *p, int32_t image, int32_t y)
{
    int64_t pixel = image + (int64_t)y * p->x.input;
    return pixel < p->last ? (int32_t)pixel : p->last;
}

static inline int32_t find_pixel(const struct resize *p, int32_t row, int32_t x)
{
    return (x < p->last - row ? row + x : p->last) * p->depth;
}

ELEMENT_INLINE bool blend(const struct resize *p, int32_t upper, int32_t lower,
                          struct resize_between y, struct resize_between x, int32_t output,
                          bool polls, uint32_t type)
{
    int32_t corner[4] = {
        find_pixel(p, upper, x.low),
        find_pixel(p, lower, x.low),
        find_pixel(p, upper, x.high),
        find_pixel(p, lower, x.high),
    };
    int64_t weight[4] = {
        (int64_t)(RESIZE_ONE - y.fraction) * (RESIZE_ONE - x.fraction),
        (int64_t)y.fraction * (RESIZE_ONE - x.fraction),
        (int64_t)(RESIZE_ONE - y.fraction) * x.fraction,
        (int64_t)y.fraction * x.fraction,
    };
    for (int32_t first = 0, end = 0; first < p->depth; first = end) {
        end = fixed_min(p->depth, first + KERNEL_BLOCK);
        if (polls && kernel_stops(&p->call, end - first)) {
            return false;
        }
        for (int32_t i = first; i < end; i++) {
            int64_t sum = 0;
            for (int k = 0; k < 4; k++) {
                sum += element_load(p->input, corner[k] + i, type) * weight[k];
            }
            int64_t nudge = sum > 0 ? 1 << 19 : -(1 << 19);
            element_store(p->output, output + i, type, (int32_t)((sum + nudge) / (1 << 20)));
        }
    }
    return true;
}

static int run_bilinear(const struct kernel_call *call)
{
    const struct resize *p = (const struct resize *)call;
    int32_t output = 0;
    bool polls = p->depth > KERNEL_BLOCK / PIXELS_AT_ONCE;
    for (int32_t line = 0; line < p->batches * p->y.output; line++) {
        struct resize_between y = resize_find_between(&p->y, line % p->y.output, p->half_pixel);
        int32_t image = line / p->y.output * p->y.input * p->x.input;
        int32_t upper = find_row(p, image, y.low);
        int32_t lower = find_row(p, image, y.high);
        for (int32_t i = 0; i < p->x.output; i++, output += p->depth) {
            if (!polls && i % PIXELS_AT_ONCE == 0 &&
                kernel_stops(call, PIXELS_AT_ONCE * (p->depth + 1))) {
                return ETHOSU_MODEL_STOPPED;
            }
            struct resize_between x = resize_find_between(&p->x, i, p->half_pixel);
            bool more = p->element_size == 1
                            ? blend(p, upper, lower, y, x, output, polls, ETHOSU_TYPE_INT8)
                            : blend(p, upper, lower, y, x, output, polls, ETHOSU_TYPE_INT16);
            if (!more) {
                return ETHOSU_MODEL_STOPPED;
            }
        }
    }
    return ETHOSU_MODEL_OK;
}

/* ---- preparing ---- */

static int prepare_resize(struct builder *builder, const struct tflite_operator_call *call,
                          const struct kernel *kernel)
{
    struct kernel_tensor in;
    struct kernel_tensor out;
    TRY(kernel_tensors(builder, call, &in, 1, &out, 1));
    if (in.rank != 4 || out.rank != 4 || in.type != out.type || in.shape[0] != out.shape[0] ||
        in.shape[3] != out.shape[3] || in.shape[1] > 1 << 15 || in.shape[2] > 1 << 15) {
        return kernel_bad(builder, "shapes do not match");
    }
    bool bilinear = kernel->code == TFLITE_RESIZE_BILINEAR;
    uint32_t field = bilinear ? BILINEAR_CORNERS : NEAREST_CORNERS;
    bool corners = kernel_option_byte(builder, call, field, 0) != 0;
    struct resize p = {
        .y = resize_make_axis(in.shape[1], out.shape[1], corners),
        .x = resize_make_axis(in.shape[2], out.shape[2], corners),
        .input = in.data,
        .output = out.data,
        .batches = in.shape[0],
        .depth = in.shape[3],
        .last = in.shape[0] * in.shape[1] * in.shape[2] - 1,
        .element_size = in.element_size,
        .align_corners = corners,
        .half_pixel = kernel_option_byte(builder, call, field + 1, 0) != 0,
    };
    if (bilinear && in.type != ETHOSU_TYPE_INT8 && in.type != ETHOSU_TYPE_INT16) {
        return kernel_bad_type(builder);
    }
    return kernel_add(builder, kernel, &p.call, sizeof p);
}

DEFINE_KERNEL(RESIZE_NEAREST_NEIGHBOR, .prepare = prepare_resize, .run = run_nearest);
DEFINE_KERNEL(RESIZE_BILINEAR, .prepare = prepare_resize, .run = run_bilinear);
