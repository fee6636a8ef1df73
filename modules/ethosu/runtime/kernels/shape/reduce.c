// SPDX-License-Identifier: MIT
/** MEAN and SUM over any dimensions, ARG_MAX and ARG_MIN along one. */
#include "runtime/kernels/shared/element.h"
#include "runtime/kernels/shared/integers.h"
#include "runtime/build/nd.h"
#include "runtime/kernels/shared/quantization.h"

struct reduce {
    struct kernel_call call;
    const void *input;
    void *output;
    uint32_t type;
    int32_t count; /**< elements per output */
    int32_t input_zero_point;
    int32_t output_zero_point;
    struct rescale scale;
    struct range range;
    bool plain;             /**< int32, and SUM of int16: the sum without scales, wrapping around */
    struct nd_walk reduced; /**< over the elements of one output */
    struct nd_walk kept;    /**< over the outputs; last member */
};

ELEMENT_INLINE int32_t sum_elements(const struct reduce *p, int32_t first, uint32_t type)
{
    const struct nd_dimension *row = &p->reduced.dimension[0];
    struct nd_cursor cursor = {0};
    uint32_t sum = 0; // wraps around like the reference
    do {
        int32_t at = first + cursor.offset[1];
        KERNEL_BLOCKS(&p->call, begin, end, row->extent)
        {
            for (int32_t i = begin; i < end; i++) {
                sum += (uint32_t)element_load(p->input, at + i * row->stride[1], type);
            }
        }
    } while (!kernel_is_stopped(&p->call) && nd_next(&p->reduced, &cursor));
    return (int32_t)sum;
}

static int32_t reduce_one(const struct reduce *p, int32_t first)
{
    int32_t sum = p->type == ETHOSU_TYPE_INT8    ? sum_elements(p, first, ETHOSU_TYPE_INT8)
                  : p->type == ETHOSU_TYPE_UINT8 ? sum_elements(p, first, ETHOSU_TYPE_UINT8)
                  : p->type == ETHOSU_TYPE_INT16 ? sum_elements(p, first, ETHOSU_TYPE_INT16)
                                                 : sum_elements(p, first, ETHOSU_TYPE_INT32);
    if (p->plain) {
        return sum;
    }
    sum = (int32_t)((uint32_t)sum - (uint32_t)p->input_zero_point * (uint32_t)p->count);
    return fixed_clamp(fixed_add(fixed_rescale(sum, p->scale), p->output_zero_point), p->range.low,
                       p->range.high);
}

static int run_reduce(const struct kernel_call *call)
{
    const struct reduce *p = (const struct reduce *)call;
    const struct nd_dimension *row = &p->kept.dimension[0];
    struct nd_cursor cursor = {0};
    do {
        for (int32_t i = 0; i < row->extent && !kernel_is_stopped(call); i++) {
            int32_t value = reduce_one(p, cursor.offset[1] + i * row->stride[1]);
            element_store(p->output, cursor.offset[0] + i, p->type, value);
        }
    } while (!kernel_is_stopped(call) && nd_next(&p->kept, &cursor));
    return ETHOSU_MODEL_OK;
}

/** Divide the input's dimensions into reduced and kept ones. */
static int sort_dimensions(struct builder *builder, const struct tflite_operator_call *call,
                           const struct kernel_tensor *in, const struct kernel_tensor *out,
                           struct reduce *p)
{
    struct integers axes;
    int32_t stride[ETHOSU_MODEL_MAX_RANK];
    uint32_t removed = 0;
    int32_t outputs = 1;
    TRY(integers_read(builder, call, 1, 0, &axes));
    for (uint32_t i = 0; i < axes.count; i++) {
        int32_t axis = axes.value[i] < 0 ? axes.value[i] + (int32_t)in->rank : axes.value[i];
        if (axis < 0 || axis >= (int32_t)in->rank) {
            return kernel_bad(builder, "axis is out of range");
        }
        removed |= 1u << axis;
    }
    nd_dense(in, stride);
    p->count = 1;
    for (uint32_t i = in->rank; i-- > 0;) {
        struct nd_dimension dimension = {.extent = in->shape[i], .stride = {0, stride[i]}};
        if ((removed >> i & 1) != 0) {
            p->reduced.dimension[p->reduced.rank++] = dimension;
            p->count *= dimension.extent;
        } else {
            dimension.stride[0] = outputs;
            p->kept.dimension[p->kept.rank++] = dimension;
            outputs *= dimension.extent;
        }
    }
    nd_simplify(&p->reduced);
    nd_simplify(&p->kept);
    return outputs == out->count ? ETHOSU_MODEL_OK
                                 : kernel_bad(builder, "output has the wrong number of elements");
}

/** A mean is a sum with a smaller factor. */
static void divide_scale(struct reduce *p)
{
    int32_t shift = 31 - __builtin_clz((uint32_t)p->count);
    shift = fixed_min(shift, 31 + p->scale.shift);
    p->scale.multiplier = (int32_t)(((int64_t)p->scale.multiplier << shift) / p->count);
    p->scale.shift -= shift;
}

static int prepare_reduce(struct builder *builder, const struct tflite_operator_call *call,
                          const struct kernel *kernel)
{
    struct kernel_tensor in;
    struct kernel_tensor out;
    struct reduce p = {0};
    TRY(kernel_tensors(builder, call, &in, 1, &out, 1));
    TRY(sort_dimensions(builder, call, &in, &out, &p));
    bool mean = kernel->code == TFLITE_MEAN;
    p.plain = !mean && (in.type == ETHOSU_TYPE_INT32 || in.type == ETHOSU_TYPE_INT16);
    if (in.type != out.type) {
        return kernel_bad_type(builder);
    }
    if (!mean && in.type == ETHOSU_TYPE_INT16 && in.scale != out.scale) {
        return kernel_unsupported(builder, "input and output differ in quantisation");
    }
    if (!p.plain) {
        TRY(need_quantized(builder, &in));
        TRY(need_quantized(builder, &out));
        TRY(need_rescale(builder, (double)in.scale / (double)out.scale, &p.scale));
        if (mean) {
            divide_scale(&p);
        }
    }
    range_of_type(out.type, &p.range);
    p.input = in.data;
    p.output = out.data;
    p.type = in.type;
    p.input_zero_point = in.zero_point;
    p.output_zero_point = out.zero_point;
    return kernel_add(builder, kernel, &p.call, nd_block_size(&p, &p.kept));
}

DEFINE_KERNEL(MEAN, .prepare = prepare_reduce, .run = run_reduce);
DEFINE_KERNEL(SUM, .prepare = prepare_reduce, .run = run_reduce);

/* ---- ARG_MAX and ARG_MIN: the first extreme value ---- */

struct arg {
    struct kernel_call call;
    const void *input;
    void *output;
    int32_t outer;
    int32_t size; /**< of the axis */
    int32_t inner;
    uint8_t type;
    bool largest;
    bool wide; /**< int64 output, else int32 */
};

static bool better(const struct arg *p, int32_t candidate, int32_t best)
{
    if (p->type == ETHOSU_TYPE_FLOAT32) {
        float a = ((const float *)p->input)[candidate];
        float b = ((const float *)p->input)[best];
        return p->largest ? a > b : a < b;
    }
    int32_t a = element_load(p->input, candidate, p->type);
    int32_t b = element_load(p->input, best, p->type);
    return p->largest ? a > b : a < b;
}

static int run_arg(const struct kernel_call *call)
{
    const struct arg *p = (const struct arg *)call;
    for (int32_t i = 0; i < p->outer * p->inner && !kernel_is_stopped(call); i++) {
        int32_t first = i / p->inner * p->size * p->inner + i % p->inner;
        int32_t best = 0;
        KERNEL_BLOCKS(call, begin, end, p->size)
        {
            for (int32_t k = begin; k < end; k++) {
                best = better(p, first + k * p->inner, first + best * p->inner) ? k : best;
            }
        }
        if (p->wide) {
            ((int64_t *)p->output)[i] = best;
        } else {
            ((int32_t *)p->output)[i] = best;
        }
    }
    return ETHOSU_MODEL_OK;
}

static int prepare_arg(struct builder *builder, const struct tflite_operator_call *call,
                       const struct kernel *kernel)
{
    struct kernel_tensor in;
    struct kernel_tensor out;
    struct integers axes;
    struct range range;
    TRY(kernel_tensors(builder, call, &in, 1, &out, 1));
    TRY(integers_read(builder, call, 1, 1, &axes));
    bool known = in.type == ETHOSU_TYPE_FLOAT32 || range_of_type(in.type, &range);
    if (!known || (out.type != ETHOSU_TYPE_INT32 && out.type != ETHOSU_TYPE_INT64)) {
        return kernel_bad_type(builder);
    }
    int32_t axis = axes.value[0] < 0 ? axes.value[0] + (int32_t)in.rank : axes.value[0];
    if (axis < 0 || axis >= (int32_t)in.rank) {
        return kernel_bad(builder, "axis is out of range");
    }
    struct arg p = {
        .input = in.data,
        .output = out.data,
        .outer = 1,
        .size = in.shape[axis],
        .inner = 1,
        .type = (uint8_t)in.type,
        .largest = kernel->code == TFLITE_ARG_MAX,
        .wide = out.type == ETHOSU_TYPE_INT64,
    };
    for (int32_t i = 0; i < (int32_t)in.rank; i++) {
        p.outer *= i < axis ? in.shape[i] : 1;
        p.inner *= i > axis ? in.shape[i] : 1;
    }
    return p.outer * p.inner == out.count
               ? kernel_add(builder, kernel, &p.call, sizeof p)
               : kernel_bad(builder, "output has the wrong number of elements");
}

DEFINE_KERNEL(ARG_MAX, .prepare = prepare_arg, .run = run_arg);
DEFINE_KERNEL(ARG_MIN, .prepare = prepare_arg, .run = run_arg);
