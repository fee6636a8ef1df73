// SPDX-License-Identifier: MIT
/** Weights and scales of one operation, decoded once and put into plain order. */
#ifndef NPU_WEIGHTS_H
#define NPU_WEIGHTS_H

#include <stdbool.h>
#include <stdint.h>

#include "output.h"
#include "window.h"

/**
 * Decode and order the weights of all cores.
 *
 * @param depthwise  one input channel per output channel
 * @return           [output channel][tap][input channel], tap = ky * kernel_width + kx, for
 *                   depthwise [output channel][tap]; NULL after recording a fault
 */
const int16_t *npu_weights_load(struct npu *npu, const struct npu_window *window,
                                uint32_t channels, bool depthwise);

/** Scale records of all channels; NULL after recording a fault. */
const struct npu_channel_scale *npu_scales_load(struct npu *npu, uint32_t channels);

#endif
