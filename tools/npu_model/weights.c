// SPDX-License-Identifier: MIT
/**
 * Weights: from the streams of the cores to plain order.
 *
 * The stream holds the weights in the order in which the hardware needs them:
 * blocks of output channels, blocks of input channels, sub-kernels, micro
 * blocks, padded with zeros wherever a block sticks out of the tensor.
 */
#include "weights.h"

#include <inttypes.h>
#include <string.h>

#include "mlw.h"
#include "npu_internal.h"

enum {
    STREAM_ALIGNMENT = 16,
    SCALE_BYTES = 10,
    SCALE_SHIFT_MASK = 0x3F,
    INPUT_UBLOCK = 8, /**< input channels of a micro block */
    SUB_KERNEL = 8,   /**< taps of a sub-kernel along one axis, before dilation */
    SYMBOLS_PER_CYCLE = 8,
    WEIGHTS_MAX = 1 << 27,
};

/** What determines the order of one core's weights. */
struct order {
    uint32_t outputs;       /**< channels of this core */
    uint32_t inputs;        /**< 1 for depthwise */
    uint32_t height, width; /**< kernel */
    uint32_t output_block, output_ublock;
    uint32_t input_block, input_ublock;
    uint32_t sub_height, sub_width;
    uint32_t tap_multiple; /**< taps of a sub-kernel are padded to this */
    bool depth_first;      /**< taps outside, input micro blocks inside */
    uint32_t core, cores;
};

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint64_t round_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

/** Cores that share the output channels. */
static bool active_cores(struct npu *npu, uint32_t *cores)
{
    *cores = npu_peek(npu, NPU_SET_PARALLEL_MODE) != 0 ? 2 : 1;
    return *cores <= npu->product->cores ||
           npu_fail(npu, NPU_FAULT_PARSE, "runs in PARALLEL_MODE 1, but %s has one core",
                    npu->product->name);
}

static uint32_t channels_of_core(uint32_t channels, uint32_t core, uint32_t cores)
{
    return (channels + cores - 1 - core) / cores;
}

static bool make_order(struct npu *npu, const struct npu_window *window, uint32_t channels,
                       bool depthwise, uint32_t cores, struct order *order)
{
    uint64_t block_m1;
    const struct npu_microblock *microblock = npu_microblock(npu);
    if (microblock == NULL || !npu_get(npu, NPU_SET_OFM_BLK_DEPTH_M1, &block_m1)) {
        return false;
    }
    if (block_m1 + 1 < cores) {
        return npu_fail(npu, NPU_FAULT_PARSE, "has OFM_BLK_DEPTH 1, too small for two cores");
    }
    bool part_kernel = window->part_kernel && !depthwise;
    bool wide = window->ifm.bits == 16;
    *order = (struct order){
        .outputs = channels, /* of all cores; narrowed per core */
        .inputs = depthwise ? 1 : window->ifm.depth,
        .height = window->kernel_height,
        .width = window->kernel_width,
        .output_block = (uint32_t)block_m1 + 1,
        .output_ublock = microblock->depth / npu->product->cores,
        .input_block = depthwise             ? 1
                       : part_kernel || wide ? 16
                                             : 32,
        .input_ublock = depthwise ? 1 : INPUT_UBLOCK,
        .sub_height = SUB_KERNEL / window->dilation_y,
        .sub_width = SUB_KERNEL / window->dilation_x,
        .tap_multiple = depthwise || (part_kernel && !wide) ? 4
                        : part_kernel                       ? 2
                                                            : 1,
        .depth_first = !part_kernel && !depthwise,
        .cores = cores,
    };
    return true;
}

static void narrow_to_core(struct order *order, const struct order *all, uint32_t core)
{
    *order = *all;
    order->core = core;
    order->outputs = channels_of_core(all->outputs, core, all->cores);
    order->output_block = channels_of_core(all->output_block, core, all->cores);
}

/** Symbols that the stream of one core has to hold. */
static uint64_t symbol_count(const struct order *order)
{
    uint64_t taps = 0;
    for (uint32_t y = 0; y < order->height; y += order->sub_height) {
        for (uint32_t x = 0; x < order->width; x += order->sub_width) {
            taps += round_up((uint64_t)smaller(order->sub_height, order->height - y) *
                                 smaller(order->sub_width, order->width - x),
                             order->tap_multiple);
        }
    }
    uint64_t inputs =
        round_up(order->inputs, order->depth_first ? order->input_block : order->input_ublock);
    uint64_t block = order->output_block;
    uint64_t outputs = order->outputs / block * round_up(block, order->output_ublock) +
                       round_up(order->outputs % block, order->output_ublock);
    return outputs * inputs * taps;
}

/** Walks a stream's symbols in order and puts each at its plain place. */
struct cursor {
    const struct order *order;
    const int16_t *symbol;
    int16_t *out;
    uint32_t output_end; /**< of the output block */
    uint32_t input_end;  /**< of the input block */
    uint32_t y, x;       /**< origin of the sub-kernel */
    uint32_t sub_height, sub_width, taps;
};

/** One tap of one micro block: output channels outside, input channels inside. */
static void place_ublock(struct cursor *cursor, uint32_t output, uint32_t input, uint32_t tap)
{
    const struct order *order = cursor->order;
    const int16_t *symbol = cursor->symbol;
    uint32_t ublock = order->input_ublock;
    cursor->symbol += order->output_ublock * ublock;
    uint32_t ky = tap / cursor->sub_width;
    if (ky >= cursor->sub_height || input >= order->inputs) {
        return;
    }
    size_t taps = (size_t)order->height * order->width;
    size_t place = (size_t)(cursor->y + ky) * order->width + cursor->x + tap % cursor->sub_width;
    uint32_t inputs = smaller(ublock, order->inputs - input);
    uint32_t outputs = smaller(order->output_ublock, order->outputs - output);
    for (uint32_t o = 0; o < outputs; o++) {
        size_t channel = (size_t)(output + o) * order->cores + order->core;
        memcpy(cursor->out + (channel * taps + place) * order->inputs + input,
               symbol + (size_t)o * ublock, inputs * sizeof *symbol);
    }
}

static void place_sub_kernel_depth_first(struct cursor *cursor, uint32_t output, uint32_t input)
{
    const struct order *order = cursor->order;
    for (; output < cursor->output_end; output += order->output_ublock) {
        for (uint32_t tap = 0; tap < cursor->taps; tap++) {
            for (uint32_t i = 0; i < order->input_block; i += order->input_ublock) {
                place_ublock(cursor, output, input + i, tap);
            }
        }
    }
}

static void place_sub_kernel_part(struct cursor *cursor, uint32_t output_start, uint32_t input)
{
    const struct order *order = cursor->order;
    for (; input < cursor->input_end; input += order->input_ublock) {
        for (uint32_t output = output_start; output < cursor->output_end;
             output += order->output_ublock) {
            for (uint32_t tap = 0; tap < cursor->taps; tap++) {
                place_ublock(cursor, output, input, tap);
            }
        }
    }
}

static void place_input_block(struct cursor *cursor, uint32_t output, uint32_t input)
{
    const struct order *order = cursor->order;
    cursor->output_end = smaller(order->outputs, output + order->output_block);
    cursor->input_end = smaller(order->inputs, input + order->input_block);
    for (cursor->y = 0; cursor->y < order->height; cursor->y += order->sub_height) {
        cursor->sub_height = smaller(order->sub_height, order->height - cursor->y);
        for (cursor->x = 0; cursor->x < order->width; cursor->x += order->sub_width) {
            cursor->sub_width = smaller(order->sub_width, order->width - cursor->x);
            cursor->taps = (uint32_t)round_up((uint64_t)cursor->sub_height * cursor->sub_width,
                                              order->tap_multiple);
            if (order->depth_first) {
                place_sub_kernel_depth_first(cursor, output, input);
            } else {
                place_sub_kernel_part(cursor, output, input);
            }
        }
    }
}

static void place_all(const struct order *order, const int16_t *symbols, int16_t *out)
{
    struct cursor cursor = {.order = order, .symbol = symbols, .out = out};
    for (uint32_t output = 0; output < order->outputs; output += order->output_block) {
        for (uint32_t input = 0; input < order->inputs; input += order->input_block) {
            place_input_block(&cursor, output, input);
        }
    }
}

/** Registers of the streams of one core. */
struct stream_registers {
    enum npu_command_row region, base, length;
};

static const struct stream_registers weight_registers[] = {
    {NPU_SET_WEIGHT_REGION, NPU_SET_WEIGHT_BASE, NPU_SET_WEIGHT_LENGTH},
    {NPU_SET_WEIGHT_REGION, NPU_SET_WEIGHT1_BASE, NPU_SET_WEIGHT1_LENGTH},
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

/** Decode the stream of one core and put its weights into place. */
static bool load_core(struct npu *npu, const struct order *order, const uint8_t *stream,
                      size_t bytes, int16_t *out)
{
    uint64_t expected = symbol_count(order);
    struct npu_mlw_work *work = npu_scratch_get(npu, NPU_BUFFER_MLW, 1, sizeof *work);
    int16_t *symbols = npu_scratch_get(npu, NPU_BUFFER_SYMBOLS, expected, sizeof *symbols);
    if (work == NULL || symbols == NULL) {
        return false;
    }
    size_t count = 0;
    enum npu_mlw_result result = npu_mlw_decode(stream, bytes, work, symbols, expected, &count);
    if (result != NPU_MLW_OK) {
        return npu_fail(npu, NPU_FAULT_WEIGHTS, "has a weight stream that %s",
                        npu_mlw_text(result));
    }
    if (count != expected) {
        return npu_fail(npu, NPU_FAULT_WEIGHTS,
                        "has a weight stream of %zu weights, needs %" PRIu64, count, expected);
    }
    place_all(order, symbols, out);
    return true;
}

static void count_events(struct npu *npu, const struct order *order)
{
    uint64_t cycles = (symbol_count(order) + SYMBOLS_PER_CYCLE - 1) / SYMBOLS_PER_CYCLE;
    npu_pmu_count(npu, NPU_EVENT_WD_ACTIVE, cycles);
    npu_pmu_count(npu, NPU_EVENT_WD_PARSE_ACTIVE, cycles);
}

/** Map the streams of all cores that have channels. */
static bool map_streams(struct npu *npu, const struct order *all,
                        struct npu_weight_streams *streams)
{
    *streams = (struct npu_weight_streams){{NULL}, {0}};
    for (uint32_t core = 0; core < all->cores && core < all->outputs; core++) {
        uint32_t bytes = 0;
        streams->bytes[core] = map_stream(npu, &weight_registers[core], NPU_READ_WEIGHT, &bytes);
        streams->length[core] = bytes;
        if (streams->bytes[core] == NULL) {
            return false;
        }
    }
    return true;
}

/** FNV-1a over what determines the order. */
static uint64_t order_key(const struct order *order)
{
    const uint32_t parts[] = {
        order->outputs,      order->inputs,     order->height,       order->width,
        order->output_block, order->sub_height, order->sub_width,    order->input_block,
        order->input_ublock, order->cores,      order->tap_multiple, order->depth_first,
    };
    uint64_t key = 0xCBF29CE484222325u;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        key = (key ^ parts[i]) * 0x100000001B3u;
    }
    return key;
}

/** Weights that one operation may have: far above what fits the hardware. */
static bool check_size(struct npu *npu, const struct order *all, size_t *count)
{
    size_t taps = (size_t)all->height * all->width;
    if (taps > WEIGHTS_MAX || all->inputs > WEIGHTS_MAX / taps ||
        all->outputs > WEIGHTS_MAX / (taps * all->inputs)) {
        return npu_fail(npu, NPU_FAULT_PARSE, "has more than %d weights", WEIGHTS_MAX);
    }
    *count = taps * all->inputs * all->outputs;
    return true;
}

static bool decode_all(struct npu *npu, const struct order *all,
                       const struct npu_weight_streams *streams, int16_t *out)
{
    for (uint32_t core = 0; core < all->cores && core < all->outputs; core++) {
        struct order order;
        narrow_to_core(&order, all, core);
        if (!load_core(npu, &order, streams->bytes[core], streams->length[core], out)) {
            return false;
        }
    }
    return true;
}

struct npu_weights *npu_weights_load(struct npu *npu, const struct npu_window *window,
                                     uint32_t channels, bool depthwise)
{
    uint32_t cores;
    size_t count = 0;
    struct order all;
    struct npu_weight_streams streams;
    if (!active_cores(npu, &cores) || !make_order(npu, window, channels, depthwise, cores, &all) ||
        !check_size(npu, &all, &count) || !map_streams(npu, &all, &streams)) {
        return NULL;
    }
    count_events(npu, &all);
    uint64_t key = order_key(&all);
    struct npu_weights *weights = npu_cache_find(&npu->weights, key, &streams);
    if (weights != NULL) {
        return weights;
    }
    weights = npu_cache_add(&npu->weights, key, &streams, count);
    if (weights == NULL) {
        npu_fail(npu, NPU_FAULT_PARSE, "no host memory for %zu weights", count);
    } else if (!decode_all(npu, &all, &streams, weights->plain)) {
        npu_cache_drop(&npu->weights, weights);
        weights = NULL;
    }
    return weights;
}

static struct npu_channel_scale scale_record(const uint8_t *bytes)
{
    uint64_t bias = 0;
    for (unsigned i = 0; i < 5; i++) {
        bias |= (uint64_t)bytes[i] << (8 * i);
    }
    uint32_t multiplier = 0;
    for (unsigned i = 0; i < 4; i++) {
        multiplier |= (uint32_t)bytes[5 + i] << (8 * i);
    }
    return (struct npu_channel_scale){
        .bias = npu_sign_extend(bias, 40),
        .scale = {multiplier, bytes[9] & SCALE_SHIFT_MASK},
    };
}

const struct npu_channel_scale *npu_scales_load(struct npu *npu, uint32_t channels)
{
    uint32_t cores;
    if (!active_cores(npu, &cores)) {
        return NULL;
    }
    struct npu_channel_scale *scales =
        npu_scratch_get(npu, NPU_BUFFER_SCALES, channels, sizeof *scales);
    for (uint32_t core = 0; scales != NULL && core < cores && core < channels; core++) {
        uint32_t bytes;
        const uint8_t *stream = map_stream(npu, &scale_registers[core], NPU_READ_SCALE, &bytes);
        uint32_t count = channels_of_core(channels, core, cores);
        if (stream == NULL || bytes / SCALE_BYTES < count) {
            npu_fail(npu, NPU_FAULT_PARSE,
                     "has %" PRIu32 " bytes of scales for %" PRIu32 " channels",
                     stream == NULL ? 0 : bytes, count);
            return NULL;
        }
        for (uint32_t i = 0; i < count; i++) {
            scales[(size_t)i * cores + core] = scale_record(stream + (size_t)i * SCALE_BYTES);
        }
    }
    return scales;
}
