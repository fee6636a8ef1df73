// SPDX-License-Identifier: MIT
/**
 * The order of weights in their streams: the one in which the hardware needs
 * them. Blocks of output channels, blocks of input channels, sub-kernels, units
 * of input channels, micro blocks of output channels, taps, input channels;
 * padded with zeros wherever one of these sticks out of the tensor.
 */
#ifndef NPU_WEIGHT_ORDER_H
#define NPU_WEIGHT_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** What an operation's order depends on. */
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

/** The loops. All members have one type, so that they can be hashed together. */
struct npu_order {
    uint32_t outputs, inputs;
    uint32_t height, width;
    uint32_t output_block;
    uint32_t input_block;
    uint32_t input_unit;            /**< input channels between micro blocks of outputs */
    uint32_t input_step;            /**< input channels that are adjacent in the stream */
    uint32_t sub_height, sub_width; /**< taps of a sub-kernel */
    uint32_t stride_y, stride_x;    /**< taps of one phase of a stride are adjacent */
    uint32_t tap_multiple;          /**< taps of a sub-kernel are padded to this */
    uint32_t padding;               /**< taps that padding takes after every tap_multiple */
    uint32_t serpentine;            /**< input blocks and kernel rows turn round each time */
    uint32_t columns;               /**< sub-kernels go down before they go right */
    uint32_t cores;
    uint32_t slots;       /**< output channels of a micro block that one core has */
    uint32_t group;       /**< adjacent output channels that a core has */
    uint32_t whole_cores; /**< cores divide all channels, not each micro block */
};

/** Ethos-U55 and U65; cores that run in parallel take every second channel. */
void npu_order_u55(const struct npu_weights_shape *shape, struct npu_order *order);

/** Ethos-U85. */
void npu_order_u85(const struct npu_weights_shape *shape, struct npu_order *order);

/** False: the stream of this core is nothing but padding, or is not there. */
bool npu_order_has_channels(const struct npu_order *order, uint32_t core);

/** Symbols that the stream of one core has to hold. */
uint64_t npu_order_symbols(const struct npu_order *order, uint32_t core);

/** Symbols of a core that a stream for all cores holds together. */
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
