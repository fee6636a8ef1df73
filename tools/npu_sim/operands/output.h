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
#include "core/op.h"

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
