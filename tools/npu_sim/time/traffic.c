// SPDX-License-Identifier: MIT
/**
 * Bytes by channel. The rules are those of Vela's estimates, with the exact window under each
 * block. On kws_micronet_m, Ethos-U55-128, the beats match those counted by Arm's Fast Model
 * exactly (README.md).
 */
#include "time/traffic.h"

#include "core/npu_internal.h"
#include "core/op.h"
#include "memory/feature_map.h"

enum { SUB_KERNEL = 8 /**< IFM elements across and down covered by one pass */ };

static uint64_t divide_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/** Position of OFM blocks over an input along one axis. */
struct axis {
    uint32_t size, block;    /**< of the OFM */
    uint32_t input;          /**< elements of the input */
    uint32_t taps, dilation; /**< of the kernel */
    uint32_t stride, padding;
    uint32_t scale; /**< 2 if the kernel sees the input upscaled */
};

/** Called for each pass over each block with the number of input elements under it. */
typedef void visit_t(void *context, uint32_t elements);

/** Number of input elements under some taps of the outputs [from, from + count). */
static uint32_t covered(const struct axis *axis, uint32_t from, uint32_t count, uint32_t tap,
                        uint32_t taps)
{
    if (axis->input == 1) {
        return 1; /* also for broadcast operands */
    }
    int64_t low =
        (int64_t)from * axis->stride + (int64_t)tap * axis->dilation - (int64_t)axis->padding;
    int64_t high =
        low + (int64_t)(count - 1) * axis->stride + (int64_t)(taps - 1) * axis->dilation + 1;
    int64_t end = (int64_t)axis->input * axis->scale;
    low = low < 0 ? 0 : low;
    high = high > end ? end : high;
    return high <= low
               ? 0
               : (uint32_t)(divide_up((uint64_t)high, axis->scale) - (uint64_t)low / axis->scale);
}

static void visit_windows(const struct axis *axis, visit_t *visit, void *context)
{
    uint32_t step = axis->dilation < SUB_KERNEL ? SUB_KERNEL / axis->dilation : 1;
    for (uint32_t from = 0; from < axis->size; from += axis->block) {
        uint32_t count = smaller(axis->block, axis->size - from);
        for (uint32_t tap = 0; tap < axis->taps; tap += step) {
            visit(context, covered(axis, from, count, tap, smaller(step, axis->taps - tap)));
        }
    }
}

/* --- Bytes of a feature map --------------------------------------------------- */

/** Sum of the bytes of all columns in one row of blocks. */
struct row {
    const struct npu_feature_map *map;
    uint32_t block_depth; /**< channels per pass */
    uint32_t passes; /**< passes that each take all channels; 0: each pass takes its own block */
    uint32_t beat;
    uint64_t bytes;
    uint32_t run;
};

static void add_bytes(struct row *row, uint64_t runs, uint64_t bytes)
{
    row->bytes += runs * divide_up(bytes, row->beat) * row->beat;
    if (bytes > row->run) {
        row->run = bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes;
    }
}

/** Add channels [from, from + depth) of `pixels` pixels of a row. */
static void add_pixels(struct row *row, uint32_t pixels, uint32_t from, uint32_t depth,
                       uint64_t times)
{
    const struct npu_feature_map *map = row->map;
    uint64_t element = map->bits / 8u;
    if (map->nhcwb16) {
        uint64_t bricks = divide_up((uint64_t)from + depth, NPU_BRICK) - from / NPU_BRICK;
        add_bytes(row, times * bricks, element * pixels * NPU_BRICK);
    } else if (depth == map->depth && map->stride_x == (int64_t)(depth * element)) {
        add_bytes(row, times, element * pixels * depth);
    } else {
        add_bytes(row, times * pixels, element * depth);
    }
}

static void add_columns(void *context, uint32_t pixels)
{
    struct row *row = context;
    uint32_t depth = row->map->depth;
    if (pixels == 0) {
        return;
    }
    if (row->passes != 0) {
        add_pixels(row, pixels, 0, depth, row->passes);
        return;
    }
    for (uint32_t from = 0; from < depth; from += row->block_depth) {
        add_pixels(row, pixels, from, smaller(row->block_depth, depth - from), 1);
    }
}

static void add_rows(void *context, uint32_t rows)
{
    *(uint64_t *)context += rows;
}

/* --- Flows --------------------------------------------------------------------- */

static void add_flow(struct npu_traffic *traffic, struct npu_flow flow)
{
    if (flow.bytes != 0 && traffic->count < NPU_FLOWS) {
        traffic->flow[traffic->count++] = flow;
    }
}

static void add_map(const struct npu *npu, struct npu_traffic *traffic, enum npu_channel channel,
                    const struct npu_feature_map *map, const struct axis *down,
                    const struct axis *across, struct row row)
{
    if (!map->used || map->chained) {
        return;
    }
    uint64_t rows = 0;
    row.map = map;
    row.beat = npu->product->family->axi_bytes;
    visit_windows(down, add_rows, &rows);
    visit_windows(across, add_columns, &row);
    add_flow(traffic, (struct npu_flow){channel, map->region, rows * row.bytes, row.run});
}

/** An axis along which input and OFM advance in step. */
static struct axis plain_axis(uint32_t size, uint32_t block, uint32_t input)
{
    return (struct axis){size, block, input, .taps = 1, .dilation = 1, .stride = 1, .scale = 1};
}

static void add_ifm(const struct npu *npu, const struct npu_op *op, struct npu_traffic *traffic,
                    struct axis down, struct axis across)
{
    const struct npu_kernel *kernel = &op->kernel;
    struct row row = {.block_depth = op->block.depth};
    down.input = op->ifm.height;
    across.input = op->ifm.width;
    if (kernel->height != 0) {
        down.scale = across.scale = kernel->upscale != NPU_UPSCALE_NONE ? 2 : 1;
        down.taps = kernel->height;
        down.dilation = kernel->dilation_y;
        down.stride = kernel->stride_y;
        down.padding = kernel->pad_top;
        across.taps = kernel->width;
        across.dilation = kernel->dilation_x;
        across.stride = kernel->stride_x;
        across.padding = kernel->pad_left;
    }
    if (op->spans_depth) {
        row.passes = (uint32_t)divide_up(op->output.map.depth, op->block.depth);
    }
    add_map(npu, traffic, NPU_READ_IFM, &op->ifm, &down, &across, row);
}

/** Add IFM2: an operand or accumulators, element by element; or weights, for each block's plane. */
static void add_ifm2(const struct npu *npu, const struct npu_op *op, struct npu_traffic *traffic,
                     struct axis down, struct axis across, uint32_t planes)
{
    struct row row = {.block_depth = op->block.depth};
    down.input = op->ifm2.height;
    across.input = op->ifm2.width;
    if (op->spans_depth && op->accumulators.input != NPU_ACC_IFM2) {
        row.passes = 1;
        down = plain_axis(planes, 1, 1);
        across = plain_axis(op->ifm2.width, op->ifm2.width, op->ifm2.width);
    }
    add_map(npu, traffic, NPU_READ_IFM, &op->ifm2, &down, &across, row);
}

static void add_stream(const struct npu *npu, struct npu_traffic *traffic, enum npu_channel channel,
                       const struct npu_stream *stream, uint32_t planes)
{
    uint64_t beat = npu->product->family->axi_bytes;
    uint64_t bytes = planes * divide_up(stream->bytes, beat) * beat;
    add_flow(traffic, (struct npu_flow){channel, stream->region, bytes, stream->bytes});
}

void npu_traffic_of(const struct npu *npu, const struct npu_op *op, struct npu_traffic *traffic)
{
    const struct npu_feature_map *map = &op->output.map;
    struct npu_feature_map ofm = *npu_output_map(&op->output);
    struct axis down = plain_axis(map->height, op->block.height, map->height);
    struct axis across = plain_axis(map->width, op->block.width, map->width);
    uint32_t planes = (uint32_t)(divide_up(map->height, op->block.height) *
                                 divide_up(map->width, op->block.width));
    traffic->count = 0;
    add_ifm(npu, op, traffic, down, across);
    add_ifm2(npu, op, traffic, down, across, planes);
    for (unsigned core = 0; core < NPU_WEIGHT_CORES; core++) {
        add_stream(npu, traffic, NPU_READ_WEIGHT, &op->weights.streams[core], planes);
    }
    for (unsigned core = 0; core < NPU_SCALE_CORES; core++) {
        add_stream(npu, traffic, NPU_READ_SCALE, &op->scales.streams[core], planes);
    }
    ofm.depth = map->depth; /* in the order of computation, if arranged */
    add_map(npu, traffic, NPU_WRITE_OFM, &ofm, &down, &across,
            (struct row){.block_depth = op->block.depth});
}
