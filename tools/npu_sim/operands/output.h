// SPDX-License-Identifier: MIT
/**
 * The output stage that all operations share:
 *
 *     accumulator -> bias, scale, round -> + zero point -> clamp -> table -> store
 */
#ifndef NPU_OUTPUT_H
#define NPU_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/commands.h"
#include "memory/feature_map.h"
#include "core/rounding.h"

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

/** One record of the scale stream. */
struct npu_channel_scale {
    int64_t bias;
    struct npu_scale scale;
};

/** The OFM in memory. */
static inline const struct npu_feature_map *npu_output_map(const struct npu_output *output)
{
    return output->arranged ? &output->target : &output->map;
}

/** Choose the buffer of an OFM that is written transposed or reversed (arrange.c). */
bool npu_decode_arrangement(struct npu *npu, struct npu_output *output);

/** Decode the ACTIVATION registers; requires `map` (activation.c). */
bool npu_decode_activation(struct npu *npu, struct npu_output *output);

/** Value of OFM_SCALE. */
bool npu_decode_ofm_scale(struct npu *npu, struct npu_scale *scale);

/** Prepare the OFM, and the buffer of an arranged one, for writing. */
bool npu_output_open(struct npu *npu, const struct npu_output *output);

/** After all writes: copy an arranged OFM from its buffer. */
bool npu_output_close(struct npu *npu, const struct npu_output *output);

/**
 * Convert scaled values to elements and store them.
 *
 * @param scaled  [count][depth] for pixels x.. of row y
 */
bool npu_output_write(struct npu *npu, const struct npu_output *output, uint32_t y, uint32_t x,
                      uint32_t count, const int64_t *scaled);

/** Scale all values with one scale, in place. */
void npu_scale_all(int64_t *values, size_t count, struct npu_scale scale,
                   enum npu_rounding rounding);

/** Add bias and scale per channel, in place; accumulators wrap at accumulator_bits. */
void npu_scale_channels(int64_t *values, size_t pixels, size_t channels,
                        const struct npu_channel_scale *scales, unsigned accumulator_bits,
                        enum npu_rounding rounding);

/* Tables and curves (lut.c). */

extern const struct npu_table_form npu_table_8_to_8, npu_table_8_to_16, npu_table_8_to_32,
    npu_table_16_to_16, npu_table_16_to_32;

npu_curve_t npu_tanh, npu_sigmoid;                   /**< built in */
npu_curve_t npu_tanh_of_table, npu_sigmoid_of_table; /**< of 512 pairs of base and slope */

/** Decode the round mode field of an input or of the OFM, using the family's encoding. */
bool npu_decode_rounding(struct npu *npu, enum npu_field field,
                         const int8_t modes[NPU_ROUNDING_MODES], enum npu_rounding *rounding);

/** Input scaling on Ethos-U85: round(value * 2^before * scale), scale.shift += before. */
struct npu_input_scale {
    struct npu_scale scale; /**< its shift includes `before` */
    unsigned before;        /**< field dbl_rnd: initial left shift of the value, in bits */
    enum npu_rounding rounding;
};

/** Decode IFM_SCALE or IFM2_SCALE of Ethos-U85. */
bool npu_decode_ifm_scale(struct npu *npu, struct npu_input_scale *scale);
bool npu_decode_ifm2_scale(struct npu *npu, struct npu_input_scale *scale);

#endif
