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

#include "commands.h"
#include "feature_map.h"
#include "rounding.h"

enum npu_reverse { NPU_REVERSE_NONE, NPU_REVERSE_H, NPU_REVERSE_W, NPU_REVERSE_C };

enum npu_activation {
    NPU_ACTIVATION_NONE = 0,
    NPU_ACTIVATION_TANH = 3,
    NPU_ACTIVATION_SIGMOID = 4,
    NPU_ACTIVATION_TABLE = 16, /**< 16..23: table slot 0..7 */
};

struct npu_output {
    struct npu_feature_map map;
    enum npu_rounding rounding;
    bool global_scale;  /**< OFM_SCALE, else per channel from the scale stream */
    uint32_t reverse;   /**< enum npu_reverse: the axis that is written backwards */
    uint32_t transpose; /**< value of OFM_PRECISION.transpose, 0: none */
    enum npu_activation activation;
    const uint8_t *table; /**< for NPU_ACTIVATION_TABLE */
    int64_t table_origin; /**< value of the table's first entry */
    int64_t zero_point;   /**< that is added: 0 when the hardware adds none */
    int64_t minimum, maximum;
};

/** One record of the scale stream. */
struct npu_channel_scale {
    int64_t bias;
    struct npu_scale scale;
};

/** Decode OFM and activation registers. */
bool npu_output_open(struct npu *npu, struct npu_output *output);

/** Value of OFM_SCALE. */
bool npu_output_scale(struct npu *npu, struct npu_scale *scale);

/**
 * Values after scaling to stored elements.
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

/* Tables (lut.c). */

/** Bytes of the table that turns into OFM elements of so many bits. */
unsigned npu_table_bytes(unsigned ofm_bits);

int32_t npu_tanh(int64_t scaled);
int32_t npu_sigmoid(int64_t scaled);

/** Look up one value; index: 0..255, or 0..65535 for a 16-bit OFM. */
int32_t npu_table_lookup(const uint8_t *table, unsigned ofm_bits, uint32_t index);

/** Round mode field of an input or of the OFM, by the modes that the family has for it. */
bool npu_decode_rounding(struct npu *npu, enum npu_field field,
                         const int8_t modes[NPU_ROUNDING_MODES], enum npu_rounding *rounding);

/** How an input is scaled on Ethos-U85: round(value * 2^before * scale), scale.shift += before. */
struct npu_input_scale {
    struct npu_scale scale; /**< its shift has `before` in it */
    unsigned before;        /**< the field dbl_rnd: bits that the value is shifted up first */
    enum npu_rounding rounding;
};

/** Decode IFM_SCALE or IFM2_SCALE of Ethos-U85. */
bool npu_decode_ifm_scale(struct npu *npu, struct npu_input_scale *scale);
bool npu_decode_ifm2_scale(struct npu *npu, struct npu_input_scale *scale);

#endif
