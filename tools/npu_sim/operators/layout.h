// SPDX-License-Identifier: MIT
/** Layout of a convolution for arithmetic/dot.h: runs of inputs, and packed weights. */
#ifndef NPU_LAYOUT_H
#define NPU_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arithmetic/dot.h"
#include "arithmetic/requant.h"
#include "core/op.h"
#include "operands/accumulators.h"
#include "operands/window.h"
#include "weights/weights.h"

struct npu_convolution {
    const struct npu_op *op;
    struct npu_kernel_window window;
    struct npu_scale_records records;
    const struct npu_channel_scale *scales; /**< of the exact path */
    struct npu_weights *constant;           /**< NULL: the weights come from IFM2 */
    const int16_t *weights;                 /**< [channel][tap][input] */
    struct npu_accumulator_rows accumulators;
    size_t bricks; /**< number of bricks of OFM channels */
    bool quick;    /**< all sums fit 32 bits and requant is exact */
    struct npu_requant requant;
};

/** A run of inputs in the kernel window. */
struct npu_input_run {
    uint32_t ky;
    uint32_t offset; /**< elements from the start of the padded row */
    uint32_t inputs;
    uint32_t weight; /**< of its first input, within a channel */
};

/** Layout of the convolution for npu_dot(). */
struct npu_layout {
    struct npu_input_run *runs;
    struct npu_dot_run *dots;
    size_t inputs; /**< of all runs */
    uint32_t run_count;
    size_t pairs, quad_count; /**< of all runs */
    int64_t sum_limit;        /**< inputs that one 32-bit sum may cover */
    enum npu_packing packing;
    const void *packed; /**< [channel block][run][pair][lanes][2], or as npu_dot_quads() wants */
    size_t brick_bytes; /**< of a channel block */
    struct npu_dot_quads_run *quads; /**< in place of dots */
};

static inline size_t npu_divide_up(size_t value, size_t unit)
{
    return (value + unit - 1) / unit;
}

static inline bool npu_has_one_pixel(const struct npu_op *op)
{
    return op->output.map.height == 1 && op->output.map.width == 1;
}

/** Adjacent taps form one run, unless dilation puts a gap between them. */
bool npu_layout_runs(struct npu *npu, const struct npu_op *op, struct npu_layout *layout);

/** Interleave the weights for the kernels, padded with 0; requires the runs. */
bool npu_layout_pack(struct npu *npu, const struct npu_convolution *conv,
                     struct npu_layout *layout);

/** Can the inputs be multiplied in quads, with weights that fit bytes? */
bool npu_inputs_fit_quads(const struct npu_feature_map *ifm);

bool npu_weights_fit_bytes(const int16_t *weights, size_t count);

/** First number of a sum in quads: minus what the zero point of npu_map_zero_8() adds. */
int32_t npu_quads_start(const int16_t *weights, size_t count, int32_t zero);

#endif
