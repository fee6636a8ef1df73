// SPDX-License-Identifier: MIT
/** FULLY_CONNECTED: each output is one sum of products of an input row and a filter. */
#include "runtime/kernels/weighted/cmsis_nn.h"

#include "runtime/kernels/shared/element.h"

/** Fields of the options. */
enum { OPTION_WEIGHTS_FORMAT = 1 };
static const struct weighted_fields weighted_fields = {
    .bias_input = 2,
    .channel_axis = 0,
    .activation = 0,
    .bias_type = 4,
    .single_precision = true,
};

/** The part of the sums that comes from the weights' zero point. */
static int64_t offset_sum(const struct weighted_call *p, const uint8_t *row)
{
    int64_t sum = 0;
    uint32_t type = p->wide ? ETHOSU_TYPE_INT16 : ETHOSU_TYPE_INT8;
    KERNEL_BLOCKS(&p->call, first, end, p->filter_offset == 0 ? 0 : p->depth)
    {
        for (int32_t i = first; i < end; i++) {
            sum += element_load(row, i, type) + p->weighted.input_offset;
        }
    }
    return sum * p->filter_offset;
}

static void add_offset(const struct weighted_call *p, union sums *sums, int32_t index,
                       int64_t offset)
{
    if (p->wide) {
        sums->wide[index] += offset;
    } else {
        sums->narrow[index] = fixed_add(sums->narrow[index], (int32_t)offset);
    }
}

static uint32_t fully_connected_scratch(const struct kernel_call *call)
{
    return cmsis_nn_fully_connected_scratch((const struct weighted_call *)call);
}

static int run_fully_connected(const struct kernel_call *call)
{
    const struct weighted_call *p = (const struct weighted_call *)call;
    const uint8_t *row = p->input;
    if (cmsis_nn_fully_connected(p)) {
        return ETHOSU_MODEL_OK;
    }
    for (int32_t i = 0; i < p->batches; i++) {
        int64_t offset = offset_sum(p, row);
        int32_t block = weighted_block(p->depth);
        for (int32_t first = 0; first < p->filters; first += block) {
            union sums sums;
            int32_t count = fixed_min(block, p->filters - first);
            for (int32_t k = 0; k < count; k++) {
                const int8_t *weights = p->filter + (size_t)(first + k) * (size_t)p->depth;
                weighted_dot(p, &sums, k, row, weights, p->depth);
                add_offset(p, &sums, k, offset);
            }
            weighted_store(p, &sums, first, count, i * p->filters + first);
            if (weighted_stops(p, count, p->depth)) {
                return ETHOSU_MODEL_STOPPED;
            }
        }
        row += (size_t)p->depth << p->wide;
    }
    return ETHOSU_MODEL_OK;
}

static bool shapes_fit(const struct kernel_tensor *in, const struct kernel_tensor *filter,
                       const struct kernel_tensor *out)
{
    int32_t rows = in->count / filter->shape[1];
    return rows * filter->shape[1] == in->count && (int64_t)rows * filter->shape[0] == out->count;
}

static int prepare_fully_connected(struct builder *builder, const struct tflite_operator_call *call,
                                   const struct kernel *kernel)
{
    struct kernel_tensor in[2];
    struct kernel_tensor out;
    struct weighted_call p = {0};
    TRY(kernel_tensors(builder, call, in, 2, &out, 1));
    if (in[1].rank != 2 || !shapes_fit(&in[0], &in[1], &out)) {
        return kernel_bad(builder, "shapes do not match");
    }
    if (kernel_option_byte(builder, call, OPTION_WEIGHTS_FORMAT, 0) != 0) {
        return kernel_unsupported(builder, "weights are in shuffled format");
    }
    TRY(weighted_prepare(builder, call, &in[0], &in[1], &out, &weighted_fields, &p.weighted));
    p.input = in[0].data;
    p.filter = in[1].data;
    p.output = out.data;
    p.depth = in[1].shape[1];
    p.filter_depth = p.depth;
    p.batches = in[0].count / p.depth;
    p.filters = in[1].shape[0];
    p.filter_offset = p.weighted.per_channel ? 0 : -in[1].zero_point;
    p.wide = in[0].type == ETHOSU_TYPE_INT16;
    return kernel_add(builder, kernel, &p.call, sizeof p);
}

DEFINE_KERNEL(FULLY_CONNECTED, .prepare = prepare_fully_connected,
              .scratch = fully_connected_scratch, .run = run_fully_connected);
