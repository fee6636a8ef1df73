// SPDX-License-Identifier: MIT
/** Decoding of weights and scales from the command registers. */
#include <inttypes.h>

#include "core/npu_internal.h"
#include "operands/operation.h"
#include "weights/weight_order.h"

enum { STREAM_ALIGNMENT = 16, WEIGHTS_MAX = 1 << 27 };

/** Registers of the streams of one core. */
struct stream_registers {
    enum npu_command_row region, base, length;
};

static const struct stream_registers weight_registers[NPU_WEIGHT_CORES] = {
    {NPU_SET_WEIGHT_REGION, NPU_SET_WEIGHT_BASE, NPU_SET_WEIGHT_LENGTH},
    {NPU_SET_WEIGHT_REGION, NPU_SET_WEIGHT1_BASE, NPU_SET_WEIGHT1_LENGTH},
    {NPU_SET_WEIGHT_REGION, NPU_SET_WEIGHT2_BASE, NPU_SET_WEIGHT2_LENGTH},
    {NPU_SET_WEIGHT_REGION, NPU_SET_WEIGHT3_BASE, NPU_SET_WEIGHT3_LENGTH},
};
static const struct stream_registers scale_registers[NPU_SCALE_CORES] = {
    {NPU_SET_SCALE_REGION, NPU_SET_SCALE_BASE, NPU_SET_SCALE_LENGTH},
    {NPU_SET_SCALE_REGION, NPU_SET_SCALE1_BASE, NPU_SET_SCALE1_LENGTH},
};

static bool decode_stream(struct npu *npu, const struct stream_registers *registers,
                          struct npu_stream *stream)
{
    uint64_t region, bytes;
    if (!npu_get(npu, registers->region, &region) ||
        !npu_get_offset(npu, registers->base, &stream->offset) ||
        !npu_get(npu, registers->length, &bytes)) {
        return false;
    }
    stream->region = (unsigned)region;
    stream->bytes = (uint32_t)bytes;
    if (stream->offset % STREAM_ALIGNMENT == 0 && bytes % STREAM_ALIGNMENT == 0 && bytes != 0) {
        return true;
    }
    return npu_fail(npu, NPU_FAULT_PARSE,
                    "has %s 0x%" PRIx64 " and length %" PRIu64 ": not multiples of %d, or empty",
                    npu_command_table[registers->base].name, (uint64_t)stream->offset, bytes,
                    STREAM_ALIGNMENT);
}

/** Number of cores that share the output channels. */
static bool active_cores(struct npu *npu, uint32_t *cores)
{
    bool parallel = npu_peek(npu, NPU_SET_PARALLEL_MODE) != 0;
    *cores = npu->product->family->all_cores ? npu->product->cores : parallel ? 2 : 1;
    if (*cores <= npu->product->cores) {
        return true;
    }
    return npu_fail(npu, NPU_FAULT_PARSE, "runs in PARALLEL_MODE 1, but %s has one core",
                    npu->product->name);
}

static bool decode_order(struct npu *npu, struct npu_op *op, bool depthwise)
{
    const struct npu_product *product = npu->product;
    const struct npu_kernel *kernel = &op->kernel;
    uint32_t cores, fast, sparse;
    if (!active_cores(npu, &cores) || !npu_get_field(npu, NPU_FIELD_WEIGHT_FAST, &fast) ||
        !npu_get_field(npu, NPU_FIELD_WEIGHT_SPARSE, &sparse)) {
        return false;
    }
    if (op->block.depth < cores) {
        return npu_fail(npu, NPU_FAULT_PARSE, "has OFM_BLK_DEPTH 1, too small for its cores");
    }
    if (depthwise && (fast | sparse) != 0) {
        return npu_fail(npu, NPU_FAULT_PARSE, "has weights of format 0x%x, not supported",
                        (unsigned)(fast | sparse << 4));
    }
    op->weights.fast = fast != 0;
    product->family->order(
        &(struct npu_weights_shape){
            .channels = op->output.map.depth,
            .inputs = depthwise ? 1 : op->ifm.depth,
            .height = kernel->height,
            .width = kernel->width,
            .stride_y = kernel->stride_y,
            .stride_x = kernel->stride_x,
            .dilation_y = kernel->dilation_y,
            .dilation_x = kernel->dilation_x,
            .bits = op->ifm.bits,
            .output_block = op->block.depth,
            .microblock = op->block.unit.depth / product->cores * cores,
            .cores = cores,
            .macs = product->macs_per_cycle,
            .depthwise = depthwise,
            .part_kernel = kernel->part_kernel,
            .sparse = sparse != 0,
        },
        &op->weights.order);
    return true;
}

/** Maximum weights of one operation, far more than the hardware supports. */
static bool count_weights(struct npu *npu, struct npu_weight_streams *weights)
{
    const struct npu_order *order = &weights->order;
    uint64_t taps = (uint64_t)order->height * order->width;
    if (taps > WEIGHTS_MAX || order->inputs > WEIGHTS_MAX / taps ||
        order->outputs > WEIGHTS_MAX / (taps * order->inputs)) {
        return npu_fail(npu, NPU_FAULT_PARSE, "has more than %d weights", WEIGHTS_MAX);
    }
    weights->count = (size_t)(taps * order->inputs * order->outputs);
    weights->key = npu_order_key(order) ^ weights->fast;
    for (uint32_t core = 0; core < order->cores; core++) {
        weights->symbols += npu_order_symbols(order, core);
    }
    return true;
}

bool npu_decode_weights(struct npu *npu, struct npu_op *op, bool depthwise)
{
    struct npu_weight_streams *weights = &op->weights;
    if (!decode_order(npu, op, depthwise) || !count_weights(npu, weights)) {
        return false;
    }
    for (uint32_t core = 0; core < weights->order.cores; core++) {
        /* A core without channels has no stream; a fast stream for all cores is the first. */
        bool exists = weights->fast ? core == 0 : npu_order_has_channels(&weights->order, core);
        if (exists && !decode_stream(npu, &weight_registers[core], &weights->streams[core])) {
            return false;
        }
    }
    return true;
}

bool npu_decode_scales(struct npu *npu, struct npu_op *op)
{
    const struct npu_family *family = npu->product->family;
    struct npu_scale_streams *scales = &op->scales;
    uint32_t channels = op->output.map.depth;
    uint32_t cores, format;
    if (op->output.global_scale) {
        return npu_decode_ofm_scale(npu, &op->scale);
    }
    if (!active_cores(npu, &cores) || !npu_get_field(npu, NPU_FIELD_ACC_FORMAT, &format)) {
        return false;
    }
    scales->layout = &family->scales[format];
    scales->count = family->all_cores ? 1 : cores;
    for (uint32_t core = 0; core < scales->count && core < channels; core++) {
        struct npu_stream *stream = &scales->streams[core];
        if (!decode_stream(npu, &scale_registers[core], stream)) {
            return false;
        }
        uint32_t records = (channels + scales->count - 1 - core) / scales->count;
        if (stream->bytes / NPU_SCALE_BYTES < records) {
            return npu_fail(npu, NPU_FAULT_PARSE,
                            "has %" PRIu32 " bytes of scales for %" PRIu32 " channels",
                            stream->bytes, records);
        }
    }
    return true;
}
