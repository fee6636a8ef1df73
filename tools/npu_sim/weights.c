// SPDX-License-Identifier: MIT
/** Weights and scales: from the streams of the cores to plain order. */
#include "weights.h"

#include <inttypes.h>
#include <string.h>

#include "fwd.h"
#include "mlw.h"
#include "npu_internal.h"
#include "weight_order.h"

enum {
    STREAM_ALIGNMENT = 16,
    FWD_ALIGNMENT = 32,
    SCALE_BYTES = 10,
    SHIFT_BITS = 6,
    SYMBOLS_PER_CYCLE = 8,
    WEIGHTS_MAX = 1 << 27,
};

/** How the streams of an operation are to be read. */
struct layout {
    struct npu_order order;
    bool fast; /**< one stream for all cores, in the format FWD */
};

/** Cores that share the output channels. */
static bool active_cores(struct npu *npu, uint32_t *cores)
{
    bool parallel = npu_peek(npu, NPU_SET_PARALLEL_MODE) != 0;
    *cores = npu->product->family->all_cores ? npu->product->cores : parallel ? 2 : 1;
    return *cores <= npu->product->cores ||
           npu_fail(npu, NPU_FAULT_PARSE, "runs in PARALLEL_MODE 1, but %s has one core",
                    npu->product->name);
}

static bool make_layout(struct npu *npu, const struct npu_kernel_window *window, uint32_t channels,
                        bool depthwise, struct layout *layout)
{
    uint64_t block_m1;
    uint32_t cores, fast, sparse;
    const struct npu_microblock *microblock = npu_microblock(npu);
    if (microblock == NULL || !active_cores(npu, &cores) ||
        !npu_get(npu, NPU_SET_OFM_BLK_DEPTH_M1, &block_m1) ||
        !npu_get_field(npu, NPU_FIELD_WEIGHT_FAST, &fast) ||
        !npu_get_field(npu, NPU_FIELD_WEIGHT_SPARSE, &sparse)) {
        return false;
    }
    if (block_m1 + 1 < cores) {
        return npu_fail(npu, NPU_FAULT_PARSE, "has OFM_BLK_DEPTH 1, too small for its cores");
    }
    if (depthwise && (fast | sparse) != 0) {
        return npu_fail(npu, NPU_FAULT_PARSE, "has weights of format 0x%x, not supported",
                        fast | sparse << 4);
    }
    layout->fast = fast != 0;
    npu->product->family->order(
        &(struct npu_weights_shape){
            .channels = channels,
            .inputs = depthwise ? 1 : window->ifm.depth,
            .height = window->kernel_height,
            .width = window->kernel_width,
            .stride_y = window->stride_y,
            .stride_x = window->stride_x,
            .dilation_y = window->dilation_y,
            .dilation_x = window->dilation_x,
            .bits = window->ifm.bits,
            .output_block = (uint32_t)block_m1 + 1,
            .microblock = microblock->depth / npu->product->cores * cores,
            .cores = cores,
            .macs = npu->product->macs_per_cycle,
            .depthwise = depthwise,
            .part_kernel = window->part_kernel,
            .sparse = sparse != 0,
        },
        &layout->order);
    return true;
}

/** Registers of the streams of one core. */
struct stream_registers {
    enum npu_command_row region, base, length;
};

static const struct stream_registers weight_registers[] = {
    {NPU_SET_WEIGHT_REGION, NPU_SET_WEIGHT_BASE, NPU_SET_WEIGHT_LENGTH},
    {NPU_SET_WEIGHT_REGION, NPU_SET_WEIGHT1_BASE, NPU_SET_WEIGHT1_LENGTH},
    {NPU_SET_WEIGHT_REGION, NPU_SET_WEIGHT2_BASE, NPU_SET_WEIGHT2_LENGTH},
    {NPU_SET_WEIGHT_REGION, NPU_SET_WEIGHT3_BASE, NPU_SET_WEIGHT3_LENGTH},
};
static const struct stream_registers scale_registers[] = {
    {NPU_SET_SCALE_REGION, NPU_SET_SCALE_BASE, NPU_SET_SCALE_LENGTH},
    {NPU_SET_SCALE_REGION, NPU_SET_SCALE1_BASE, NPU_SET_SCALE1_LENGTH},
};

static const uint8_t *map_stream(struct npu *npu, const struct stream_registers *registers,
                                 enum npu_channel channel, uint32_t *length)
{
    uint64_t region, base, bytes;
    if (!npu_get(npu, registers->region, &region) || !npu_get(npu, registers->base, &base) ||
        !npu_get(npu, registers->length, &bytes)) {
        return NULL;
    }
    if (npu->product->family->address_bits == 32) {
        base = (uint32_t)base;
    }
    if (base % STREAM_ALIGNMENT != 0 || bytes % STREAM_ALIGNMENT != 0 || bytes == 0) {
        npu_fail(npu, NPU_FAULT_PARSE,
                 "has %s 0x%" PRIx64 " and length %" PRIu64 ": not multiples of %d, or empty",
                 npu_command_table[registers->base].name, base, bytes, STREAM_ALIGNMENT);
        return NULL;
    }
    *length = (uint32_t)bytes;
    const uint8_t *memory = npu_map(npu, channel, (unsigned)region, (int64_t)base, bytes);
    if (memory != NULL) {
        npu_count_bytes(npu, channel, (unsigned)region, bytes);
    }
    return memory;
}

/** Room for all symbols of a stream. */
static int16_t *get_symbols(struct npu *npu, uint64_t count)
{
    return npu_scratch_get(npu, NPU_BUFFER_SYMBOLS, count, sizeof(int16_t));
}

static bool check_count(struct npu *npu, uint64_t count, uint64_t expected)
{
    return count == expected ||
           npu_fail(npu, NPU_FAULT_WEIGHTS,
                    "has a weight stream of %" PRIu64 " weights, needs %" PRIu64, count, expected);
}

/** Decode the stream of one core and put its weights into place. */
static bool load_core(struct npu *npu, const struct npu_order *order, uint32_t core,
                      const uint8_t *stream, size_t bytes, int16_t *out)
{
    uint64_t expected = npu_order_symbols(order, core);
    struct npu_mlw_work *work = npu_scratch_get(npu, NPU_BUFFER_MLW, 1, sizeof *work);
    int16_t *symbols = work == NULL ? NULL : get_symbols(npu, expected);
    if (symbols == NULL) {
        return false;
    }
    size_t count = 0;
    enum npu_mlw_result result = npu_mlw_decode(stream, bytes, work, symbols, expected, &count);
    if (result != NPU_MLW_OK) {
        return npu_fail(npu, NPU_FAULT_WEIGHTS, "has a weight stream that %s",
                        npu_mlw_text(result));
    }
    if (!check_count(npu, count, expected)) {
        return false;
    }
    npu_order_place(order, core, symbols, out);
    return true;
}

/** Bring the blocks of one core together, in place of what was before them. */
static void gather_core(const struct npu_order *order, uint32_t core, const int16_t *symbols,
                        uint64_t count, int16_t *own)
{
    size_t block = npu_order_block(order);
    for (uint64_t at = 0; at < count; at += block) {
        memcpy(own + at, symbols + at * order->cores + core * block, block * sizeof *own);
    }
}

/** Decode the one stream that holds the blocks of all cores in turn. */
static bool load_fast(struct npu *npu, const struct npu_order *order, const uint8_t *stream,
                      size_t bytes, int16_t *out)
{
    uint64_t count = npu_order_symbols(order, 0);
    uint64_t all = count * order->cores;
    int16_t *symbols = get_symbols(npu, all + count);
    if (symbols == NULL) {
        return false;
    }
    size_t needed = npu_fwd_bytes(stream, bytes, all);
    if (needed == 0 || needed > bytes || bytes - needed >= 2 * FWD_ALIGNMENT) {
        return npu_fail(npu, NPU_FAULT_WEIGHTS,
                        "has a fast weight stream of %zu bytes, needs %zu for %" PRIu64
                        " weights%s",
                        bytes, needed, all, needed == 0 ? ": its header has no meaning" : "");
    }
    npu_fwd_decode(stream, symbols, all);
    for (uint32_t core = 0; core < order->cores; core++) {
        gather_core(order, core, symbols, count, symbols + all);
        npu_order_place(order, core, symbols + all, out);
    }
    return true;
}

static void count_events(struct npu *npu, const struct npu_order *order)
{
    uint64_t symbols = 0;
    for (uint32_t core = 0; core < order->cores; core++) {
        symbols += npu_order_symbols(order, core);
    }
    uint64_t cycles = (symbols + SYMBOLS_PER_CYCLE - 1) / SYMBOLS_PER_CYCLE;
    npu_pmu_count(npu, NPU_EVENT_WD_ACTIVE, cycles);
    npu_pmu_count(npu, npu->product->family->parse_event, cycles);
}

/** A core without channels has no stream; all cores of a fast one are in the first. */
static bool has_stream(const struct layout *layout, uint32_t core)
{
    return layout->fast ? core == 0 : npu_order_has_channels(&layout->order, core);
}

static bool map_streams(struct npu *npu, const struct layout *layout,
                        struct npu_weight_streams *streams)
{
    *streams = (struct npu_weight_streams){{NULL}, {0}};
    for (uint32_t core = 0; core < layout->order.cores; core++) {
        uint32_t bytes = 0;
        if (!has_stream(layout, core)) {
            continue;
        }
        streams->bytes[core] = map_stream(npu, &weight_registers[core], NPU_READ_WEIGHT, &bytes);
        streams->length[core] = bytes;
        if (streams->bytes[core] == NULL) {
            return false;
        }
    }
    return true;
}

/** Weights that one operation may have: far above what fits the hardware. */
static bool check_size(struct npu *npu, const struct npu_order *order, size_t *count)
{
    size_t taps = (size_t)order->height * order->width;
    if (taps > WEIGHTS_MAX || order->inputs > WEIGHTS_MAX / taps ||
        order->outputs > WEIGHTS_MAX / (taps * order->inputs)) {
        return npu_fail(npu, NPU_FAULT_PARSE, "has more than %d weights", WEIGHTS_MAX);
    }
    *count = taps * order->inputs * order->outputs;
    return true;
}

static bool decode_all(struct npu *npu, const struct layout *layout,
                       const struct npu_weight_streams *streams, int16_t *out)
{
    if (layout->fast) {
        return load_fast(npu, &layout->order, streams->bytes[0], streams->length[0], out);
    }
    for (uint32_t core = 0; core < layout->order.cores; core++) {
        if (has_stream(layout, core) && !load_core(npu, &layout->order, core, streams->bytes[core],
                                                   streams->length[core], out)) {
            return false;
        }
    }
    return true;
}

struct npu_weights *npu_weights_load(struct npu *npu, const struct npu_kernel_window *window,
                                     uint32_t channels, bool depthwise)
{
    size_t count = 0;
    struct layout layout;
    struct npu_weight_streams streams;
    if (!make_layout(npu, window, channels, depthwise, &layout) ||
        !check_size(npu, &layout.order, &count) || !map_streams(npu, &layout, &streams)) {
        return NULL;
    }
    count_events(npu, &layout.order);
    uint64_t key = npu_order_key(&layout.order) ^ layout.fast;
    struct npu_weights *weights = npu_cache_find(&npu->weights, key, &streams);
    if (weights != NULL) {
        return weights;
    }
    weights = npu_cache_add(&npu->weights, key, &streams, count);
    if (weights == NULL) {
        npu_fail(npu, NPU_FAULT_PARSE, "no host memory for %zu weights", count);
    } else if (!decode_all(npu, &layout, &streams, weights->plain)) {
        npu_cache_drop(&npu->weights, weights);
        weights = NULL;
    }
    return weights;
}

/** Bits [first, first + bits) of a record. */
static uint64_t field_of(uint64_t low, uint64_t high, unsigned first, unsigned bits)
{
    uint64_t value = first < 64 ? low >> first : high >> (first - 64);
    if (first > 0 && first < 64) {
        value |= high << (64 - first);
    }
    return value & (((uint64_t)1 << bits) - 1);
}

static struct npu_channel_scale scale_record(const uint8_t *bytes,
                                             const struct npu_scale_layout *layout)
{
    uint64_t low;
    uint16_t high;
    memcpy(&low, bytes, sizeof low);
    memcpy(&high, bytes + sizeof low, sizeof high);
    uint64_t multiplier = field_of(low, high, layout->bias_bits, layout->multiplier_bits);
    return (struct npu_channel_scale){
        .bias = npu_sign_extend(field_of(low, high, 0, layout->bias_bits), layout->bias_bits),
        .scale = {(uint32_t)multiplier,
                  (uint8_t)field_of(low, high, 8u * layout->shift_byte, SHIFT_BITS)},
    };
}

static struct npu_channel_scale *global_scales(struct npu *npu, struct npu_channel_scale *scales,
                                               uint32_t channels)
{
    struct npu_scale scale;
    if (!npu_output_scale(npu, &scale)) {
        return NULL;
    }
    for (uint32_t i = 0; i < channels; i++) {
        scales[i] = (struct npu_channel_scale){0, scale};
    }
    return scales;
}

const struct npu_channel_scale *npu_scales_load(struct npu *npu, uint32_t channels, bool global)
{
    uint32_t cores, format;
    if (!active_cores(npu, &cores) || !npu_get_field(npu, NPU_FIELD_ACC_FORMAT, &format)) {
        return NULL;
    }
    struct npu_channel_scale *scales =
        npu_scratch_get(npu, NPU_BUFFER_SCALES, channels, sizeof *scales);
    if (scales == NULL || global) {
        return scales == NULL ? NULL : global_scales(npu, scales, channels);
    }
    uint32_t streams = npu->product->family->all_cores ? 1 : cores;
    const struct npu_scale_layout *layout = &npu->product->family->scales[format];
    for (uint32_t core = 0; core < streams && core < channels; core++) {
        uint32_t bytes;
        const uint8_t *stream = map_stream(npu, &scale_registers[core], NPU_READ_SCALE, &bytes);
        uint32_t count = (channels + streams - 1 - core) / streams;
        if (stream == NULL || bytes / SCALE_BYTES < count) {
            npu_fail(npu, NPU_FAULT_PARSE,
                     "has %" PRIu32 " bytes of scales for %" PRIu32 " channels",
                     stream == NULL ? 0 : bytes, count);
            return NULL;
        }
        for (uint32_t i = 0; i < count; i++) {
            scales[(size_t)i * streams + core] =
                scale_record(stream + (size_t)i * SCALE_BYTES, layout);
        }
    }
    return scales;
}
