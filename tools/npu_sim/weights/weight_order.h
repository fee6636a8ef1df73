// SPDX-License-Identifier: MIT
/**
 * The order of weights in their streams, which is the order in which the hardware uses them: blocks
 * of output channels, blocks of input channels, sub-kernels, units of input channels, micro blocks
 * of output channels, taps, input channels. Wherever one of these exceeds the tensor, it is padded
 * with zeros.
 */
#ifndef NPU_WEIGHT_ORDER_H
#define NPU_WEIGHT_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Properties that determine an operation's order. */
struct npu_weights_shape {
    uint32_t channels, inputs; /**< of the OFM and the IFM; depthwise has 1 input */
    uint32_t height, width;    /**< kernel taps */
    uint32_t stride_y, stride_x, dilation_y, dilation_x;
    uint32_t bits;         /**< of an IFM element */
    uint32_t output_block; /**< OFM_BLK_DEPTH */
    uint32_t microblock;   /**< depth of the OFM micro block, all cores together */
    uint32_t cores, macs;
    bool depthwise, part_kernel, sparse;
};

/** The loops. All members have the same type, so that they can be hashed together. */
struct npu_order {
    uint32_t outputs, inputs;
    uint32_t height, width;
    uint32_t output_block;
    uint32_t input_block;
    uint32_t input_unit;            /**< input channels between micro blocks of outputs */
    uint32_t input_step;            /**< input channels that are adjacent in the stream */
    uint32_t sub_height, sub_width; /**< taps of a sub-kernel */
    uint32_t stride_y, stride_x;    /**< taps of the same stride phase are adjacent */
    uint32_t tap_multiple;          /**< taps of a sub-kernel are padded to this */
    uint32_t padding;               /**< padding taps after every tap_multiple taps */
    uint32_t serpentine;            /**< input blocks and kernel rows alternate in direction */
    uint32_t columns;               /**< sub-kernels are ordered down first, then across */
    uint32_t cores;
    uint32_t slots;       /**< output channels of a micro block per core */
    uint32_t group;       /**< adjacent output channels per core */
    uint32_t whole_cores; /**< cores divide all channels, not the channels of each micro block */
};

/** Ethos-U55 and U65; cores that run in parallel take alternate channels. */
void npu_order_u55(const struct npu_weights_shape *shape, struct npu_order *order);

/** Ethos-U85. */
void npu_order_u85(const struct npu_weights_shape *shape, struct npu_order *order);

/** False if this core has no stream, or one of padding only. */
bool npu_order_has_channels(const struct npu_order *order, uint32_t core);

/** Number of symbols in one core's stream. */
uint64_t npu_order_symbols(const struct npu_order *order, uint32_t core);

/** Number of consecutive symbols of one core in a stream shared by all cores. */
uint32_t npu_order_block(const struct npu_order *order);

/**
 * Put the symbols of one core into plain order.
 *
 * @param out  [output channel][tap][input channel]
 */
void npu_order_place(const struct npu_order *order, uint32_t core, const int16_t *symbols,
                     int16_t *out);

/** Hash of an order. */
uint64_t npu_order_key(const struct npu_order *order);

#endif
