// SPDX-License-Identifier: MIT
/** Weights and scales of one operation, decoded once and put into plain order. */
#ifndef NPU_WEIGHTS_H
#define NPU_WEIGHTS_H

#include <stdbool.h>
#include <stdint.h>

#include "output.h"
#include "weight_cache.h"
#include "window.h"

/**
 * Decode and order the weights of all cores, or find them in the cache.
 *
 * @param depthwise  one input channel per output channel
 * @return           plain: [output channel][tap][input channel], tap = ky * kernel_width + kx,
 *                   for depthwise [output channel][tap]; NULL after recording a fault
 */
struct npu_weights *npu_weights_load(struct npu *npu, const struct npu_kernel_window *window,
                                     uint32_t channels, bool depthwise);

/**
 * Scale records of all channels: from the scale stream, or OFM_SCALE and no
 * bias for each; NULL after recording a fault.
 */
const struct npu_channel_scale *npu_scales_load(struct npu *npu, uint32_t channels, bool global);

#endif
