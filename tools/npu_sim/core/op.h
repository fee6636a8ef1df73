// SPDX-License-Identifier: MIT
/** An operation, decoded: plain data, which operands and operators fill, and the others read. */
#ifndef NPU_OP_H
#define NPU_OP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/kernel.h"
#include "core/parts.h"
#include "core/product.h"
#include "core/rounding.h"
#include "npu_sim.h"

enum npu_reverse { NPU_REVERSE_NONE, NPU_REVERSE_H, NPU_REVERSE_W, NPU_REVERSE_C };

enum npu_activation {
    NPU_ACTIVATION_NONE,
    NPU_ACTIVATION_TABLE, /**< the clamped value indexes a table */
    NPU_ACTIVATION_CURVE, /**< tanh or sigmoid of the value; the result is clamped */
};

/** A table supplied by the compiler. */
struct npu_table_form {
    uint16_t bytes;
    uint8_t index_bits; /**< 8 or 16 */
    int32_t (*look_up)(const uint8_t *table, uint32_t index);
};

/** Tanh or sigmoid of a value in units of 1/12288; table: NULL for built-in functions. */
typedef int32_t npu_curve_t(const uint8_t *table, int64_t scaled);

/** How an OFM is written, decoded. */
struct npu_output {
    struct npu_feature_map map; /**< written by the operation: the OFM or the buffer for it */
    enum npu_rounding rounding;
    bool global_scale;             /**< OFM_SCALE, else per channel from the scale stream */
    uint32_t reverse;              /**< enum npu_reverse: the axis that is written backwards */
    uint32_t transpose;            /**< OFM_PRECISION.transpose; 0 for none */
    bool arranged;                 /**< reversed or transposed: `map` is copied to `target` */
    struct npu_feature_map target; /**< if arranged: the OFM */
    enum npu_activation activation;
    const struct npu_table_form *form;
    const uint8_t *table;
    npu_curve_t *curve;
    int64_t table_origin; /**< value of the table's first entry */
    int64_t zero_point;   /**< to be added; 0 if the hardware adds none */
    int64_t minimum, maximum;
    bool wraps; /**< no clamp at all: the low bits are stored, or index the table */
};

/** The OFM in memory. */
static inline const struct npu_feature_map *npu_output_map(const struct npu_output *output)
{
    return output->arranged ? &output->target : &output->map;
}

/** One record of the scale stream. */
struct npu_channel_scale {
    int64_t bias;
    struct npu_scale scale;
};

/** Values of ACC_FORMAT.acc_input. */
enum npu_accumulator_input { NPU_ACC_RESET = 0, NPU_ACC_KEEP = 1, NPU_ACC_IFM2 = 2 };

/** Initial value and destination of an operation's accumulators, decoded. */
struct npu_accumulators {
    unsigned bits; /**< width at which they wrap */
    enum npu_accumulator_input input;
    bool leave; /**< no OFM: keep them for the next operation */
};

/** The loops of the weights, see weight_order.h. All members have the same type, so that they can
 * be hashed together. */
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

/** A stream in memory. */
struct npu_stream {
    unsigned region;
    int64_t offset;
    uint32_t bytes; /**< 0 if unused */
};

/** Location and order of the weights, from the command registers. */
struct npu_weight_streams {
    struct npu_order order;
    bool fast;        /**< one FWD stream for all cores */
    size_t count;     /**< number of weights, without padding */
    uint64_t symbols; /**< with padding, in all streams */
    uint64_t key;     /**< of the order, for the cache */
    struct npu_stream streams[NPU_WEIGHT_CORES];
};

/** Location of the scale records. */
struct npu_scale_streams {
    uint32_t count; /**< that share the channels; 0: all channels use OFM_SCALE without bias */
    const struct npu_scale_layout *layout;
    struct npu_stream streams[NPU_SCALE_CORES];
};

/** Block size in which the hardware computes an OFM. */
struct npu_block {
    uint32_t height, width, depth;
    struct npu_microblock unit;
};

enum { NPU_DECODED_MAX = 160 /**< bytes of operator-specific state */ };

/** Everything needed to execute an operation, except memory. */
struct npu_op {
    uint32_t param; /**< of its command: the mode */

    /* Feature maps; those not `used` are not in memory. */
    struct npu_feature_map ifm, ifm2;
    struct npu_output output; /**< the OFM and the processing of values before they are stored */
    struct npu_scale scale;   /**< OFM_SCALE, where it applies; else 1 >> 0 */
    struct npu_block block;   /**< depth 0: the operation has no OFM */

    struct npu_kernel kernel; /**< height 0: the operation has none */
    struct npu_accumulators accumulators;
    struct npu_weight_streams weights;
    struct npu_scale_streams scales;

    const void *decoded; /**< operator-specific state, see npu_new_decoded() */
    uint64_t decoded_space[NPU_DECODED_MAX / sizeof(uint64_t)];

    /* For transfers and timing. */
    uint32_t inputs;  /**< input channels that each output channel sums over, 0 for no MACs */
    bool spans_depth; /**< each output channel needs all input channels */
    enum npu_output_class output_class;
};

#endif
