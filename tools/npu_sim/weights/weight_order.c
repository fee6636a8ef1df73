// SPDX-License-Identifier: MIT
/** The order of weights in their streams. Source: the weight encoders of Vela's regor. */
#include "weights/weight_order.h"

#include <string.h>

enum {
    SUB_KERNEL = 8, /**< taps of a sub-kernel along one axis, before dilation */
    SUB_TAPS = SUB_KERNEL * SUB_KERNEL,
    INTERLEAVE = 4,   /**< adjacent output channels per Ethos-U85 core, in turn */
    SMALL_MACS = 256, /**< configs up to this need no padding of 8-bit depthwise weights */
    MIDDLE_MACS = 512,
};

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint64_t round_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

void npu_order_u55(const struct npu_weights_shape *shape, struct npu_order *order)
{
    bool part = shape->part_kernel && !shape->depthwise;
    bool wide = shape->bits == 16;
    uint32_t step = shape->depthwise ? 1 : 8;
    uint32_t block = part || wide ? 16 : 32;
    *order = (struct npu_order){
        .outputs = shape->channels,
        .inputs = shape->inputs,
        .height = shape->height,
        .width = shape->width,
        .output_block = shape->output_block,
        .input_block = shape->depthwise ? 1 : block,
        .input_unit = part || shape->depthwise ? step : block,
        .input_step = step,
        .sub_height = SUB_KERNEL / shape->dilation_y,
        .sub_width = SUB_KERNEL / shape->dilation_x,
        .stride_y = 1,
        .stride_x = 1,
        .tap_multiple = shape->depthwise || (part && !wide) ? 4
                        : part                              ? 2
                                                            : 1,
        .cores = shape->cores,
        .slots = shape->microblock / shape->cores,
        .group = shape->microblock / shape->cores,
        .whole_cores = 1,
    };
}

/** Padding in taps required by the array for a depthwise operation. */
static uint32_t depthwise_padding(const struct npu_weights_shape *shape)
{
    if (shape->bits == 8 && shape->macs <= SMALL_MACS) {
        return 0;
    }
    return shape->macs <= MIDDLE_MACS ? 2 : 6;
}

static uint32_t input_block_u85(const struct npu_weights_shape *shape)
{
    bool shallow = shape->macs <= SMALL_MACS && shape->microblock == 16 && !shape->sparse;
    if (shape->depthwise) {
        return 1;
    }
    if (shape->part_kernel) {
        return 16;
    }
    if (shape->sparse && shape->bits == 8) {
        return 128;
    }
    return shallow || shape->bits == 32 ? 32 : 64;
}

void npu_order_u85(const struct npu_weights_shape *shape, struct npu_order *order)
{
    bool part = shape->part_kernel && !shape->depthwise;
    bool wide = shape->bits == 16;
    uint32_t block = input_block_u85(shape);
    bool phases = part || shape->depthwise;
    *order = (struct npu_order){
        .outputs = shape->channels,
        .inputs = shape->inputs,
        .height = shape->height,
        .width = shape->width,
        .output_block = shape->output_block,
        .input_block = block,
        .input_unit = part && wide && !shape->sparse ? 8 : block,
        .input_step = shape->depthwise ? 1
                      : shape->sparse  ? 16
                                       : 8,
        .sub_height = SUB_KERNEL / shape->dilation_y,
        .sub_width = SUB_KERNEL / shape->dilation_x,
        .stride_y = phases ? shape->stride_y : 1,
        .stride_x = phases ? shape->stride_x : 1,
        .tap_multiple = !phases                           ? 1
                        : part && !wide && !shape->sparse ? 5
                                                          : 10,
        .padding = shape->depthwise ? depthwise_padding(shape) : 0,
        .serpentine = 1,
        .columns = 1,
        .cores = shape->cores,
        .slots = shape->microblock / shape->cores,
        .group = INTERLEAVE,
    };
}

/** Output channels in the numbering of one core. */
struct lane {
    uint32_t outputs, output_block;
    uint32_t span;                 /**< channels from one micro block to the next */
    uint32_t group_step, first;    /**< from one group of slots to the next, and before the first */
    uint32_t channel_step, offset; /**< conversion from the core's channel number to the tensor's */
};

static uint32_t share(uint32_t channels, uint32_t core, uint32_t cores)
{
    return (channels + cores - 1 - core) / cores;
}

static struct lane lane_of(const struct npu_order *order, uint32_t core)
{
    if (order->whole_cores) {
        return (struct lane){
            .outputs = share(order->outputs, core, order->cores),
            .output_block = share(order->output_block, core, order->cores),
            .span = order->slots,
            .group_step = order->group,
            .channel_step = order->cores,
            .offset = core,
        };
    }
    return (struct lane){
        .outputs = order->outputs,
        .output_block = order->output_block,
        .span = order->slots * order->cores,
        .group_step = order->group * order->cores,
        .first = order->group * core,
        .channel_step = 1,
    };
}

bool npu_order_has_channels(const struct npu_order *order, uint32_t core)
{
    struct lane lane = lane_of(order, core);
    return lane.first < lane.outputs;
}

uint32_t npu_order_block(const struct npu_order *order)
{
    return order->slots * order->input_unit * order->tap_multiple;
}

/** Symbols of one micro block and unit of inputs over all taps of a sub-kernel. */
static uint64_t sub_kernel_symbols(const struct npu_order *order, uint32_t taps)
{
    uint64_t padded = round_up(taps, order->tap_multiple);
    uint64_t padding = padded / order->tap_multiple * order->padding;
    return (padded + padding) * order->input_unit * order->slots;
}

uint64_t npu_order_symbols(const struct npu_order *order, uint32_t core)
{
    struct lane lane = lane_of(order, core);
    uint64_t symbols = 0;
    for (uint32_t y = 0; y < order->height; y += order->sub_height) {
        for (uint32_t x = 0; x < order->width; x += order->sub_width) {
            symbols += sub_kernel_symbols(order, smaller(order->sub_height, order->height - y) *
                                                     smaller(order->sub_width, order->width - x));
        }
    }
    uint64_t block = lane.output_block;
    uint64_t outputs = lane.outputs / block * round_up(block, lane.span) +
                       round_up(lane.outputs % block, lane.span);
    return outputs / lane.span * (round_up(order->inputs, order->input_unit) / order->input_unit) *
           symbols;
}

/** Iterates over a stream's symbols and stores them in plain order. */
struct cursor {
    const struct npu_order *order;
    struct lane lane;
    const int16_t *symbol;
    int16_t *out;
    uint32_t output_end;     /**< of the output block */
    uint32_t input_end;      /**< of the input block */
    uint32_t tap_count;      /**< of the sub-kernel */
    uint32_t taps[SUB_TAPS]; /**< plain indices of its taps, in order */
};

/** List the taps of a sub-kernel: row by row for each phase of the stride. */
static void list_taps(struct cursor *cursor, uint32_t y, uint32_t x)
{
    const struct npu_order *order = cursor->order;
    uint32_t height = smaller(order->sub_height, order->height - y);
    uint32_t width = smaller(order->sub_width, order->width - x);
    cursor->tap_count = 0;
    for (uint32_t phase_y = 0; phase_y < order->stride_y; phase_y++) {
        for (uint32_t phase_x = 0; phase_x < order->stride_x; phase_x++) {
            uint32_t columns = (width + order->stride_x - 1 - phase_x) / order->stride_x;
            for (uint32_t ky = phase_y; ky < height; ky += order->stride_y) {
                bool back = order->serpentine && (ky / order->stride_y) % 2 != 0;
                for (uint32_t i = 0; i < columns; i++) {
                    uint32_t kx = phase_x + (back ? columns - 1 - i : i) * order->stride_x;
                    cursor->taps[cursor->tap_count++] = (y + ky) * order->width + x + kx;
                }
            }
        }
    }
}

/** Place one tap of one micro block: inputs in steps, all slots for each. */
static void place_tap(struct cursor *cursor, uint32_t output, uint32_t input, uint32_t tap)
{
    const struct npu_order *order = cursor->order;
    const struct lane *lane = &cursor->lane;
    size_t taps = (size_t)order->height * order->width;
    for (uint32_t i = 0; i < order->input_unit; i += order->input_step) {
        uint32_t rest = input + i < order->inputs ? order->inputs - input - i : 0;
        uint32_t inputs = smaller(order->input_step, rest);
        for (uint32_t slot = 0; slot < order->slots; slot++, cursor->symbol += order->input_step) {
            uint32_t own =
                output + slot / order->group * lane->group_step + lane->first + slot % order->group;
            if (own < lane->outputs && inputs > 0) {
                size_t channel = (size_t)own * lane->channel_step + lane->offset;
                memcpy(cursor->out + (channel * taps + tap) * order->inputs + input + i,
                       cursor->symbol, inputs * sizeof *cursor->symbol);
            }
        }
    }
}

/** Place all taps of one micro block and unit of inputs, and skip their padding. */
static void place_microblock(struct cursor *cursor, uint32_t output, uint32_t input)
{
    const struct npu_order *order = cursor->order;
    const int16_t *end = cursor->symbol + sub_kernel_symbols(order, cursor->tap_count);
    for (uint32_t i = 0; i < cursor->tap_count; i++) {
        place_tap(cursor, output, input, cursor->taps[i]);
        if ((i + 1) % order->tap_multiple == 0) {
            cursor->symbol += (size_t)order->padding * order->input_unit * order->slots;
        }
    }
    cursor->symbol = end;
}

static void place_sub_kernel(struct cursor *cursor, uint32_t output, uint32_t input, uint32_t y,
                             uint32_t x)
{
    list_taps(cursor, y, x);
    for (uint32_t i = input; i < cursor->input_end; i += cursor->order->input_unit) {
        for (uint32_t o = output; o < cursor->output_end; o += cursor->lane.span) {
            place_microblock(cursor, o, i);
        }
    }
}

static void place_input_block(struct cursor *cursor, uint32_t output, uint32_t input)
{
    const struct npu_order *order = cursor->order;
    cursor->output_end = smaller(cursor->lane.outputs, output + cursor->lane.output_block);
    cursor->input_end = smaller(order->inputs, input + order->input_block);
    if (order->columns) {
        for (uint32_t x = 0; x < order->width; x += order->sub_width) {
            for (uint32_t y = 0; y < order->height; y += order->sub_height) {
                place_sub_kernel(cursor, output, input, y, x);
            }
        }
        return;
    }
    for (uint32_t y = 0; y < order->height; y += order->sub_height) {
        for (uint32_t x = 0; x < order->width; x += order->sub_width) {
            place_sub_kernel(cursor, output, input, y, x);
        }
    }
}

void npu_order_place(const struct npu_order *order, uint32_t core, const int16_t *symbols,
                     int16_t *out)
{
    struct cursor cursor = {
        .order = order, .lane = lane_of(order, core), .symbol = symbols, .out = out};
    uint32_t blocks = (order->inputs + order->input_block - 1) / order->input_block;
    bool back = false;
    for (uint32_t output = 0; output < cursor.lane.outputs; output += cursor.lane.output_block) {
        for (uint32_t i = 0; i < blocks; i++) {
            place_input_block(&cursor, output, (back ? blocks - 1 - i : i) * order->input_block);
        }
        back = order->serpentine && !back;
    }
}

/** FNV-1a. */
uint64_t npu_order_key(const struct npu_order *order)
{
    uint32_t parts[sizeof *order / sizeof(uint32_t)];
    memcpy(parts, order, sizeof parts);
    uint64_t key = 0xCBF29CE484222325u;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        key = (key ^ parts[i]) * 0x100000001B3u;
    }
    return key;
}
