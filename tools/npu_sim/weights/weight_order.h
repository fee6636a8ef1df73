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

#include "core/op.h"

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
