// SPDX-License-Identifier: MIT
/** The output stage: scale, round, zero point, clamp, activation, store. */
#include "output.h"

#include <inttypes.h>

#include "npu_internal.h"

bool npu_decode_rounding(struct npu *npu, enum npu_field field,
                         const int8_t modes[NPU_ROUNDING_MODES], enum npu_rounding *rounding)
{
    uint32_t value;
    if (!npu_get_field(npu, field, &value)) {
        return false;
    }
    *rounding = modes[value] < 0 ? NPU_ROUND_NATURAL : (enum npu_rounding)modes[value];
    return modes[value] >= 0 ||
           npu_fail(npu, NPU_FAULT_PARSE, "has rounding mode %u", (unsigned)value);
}

static bool decode_input_scale(struct npu *npu, enum npu_field rounding, enum npu_field shift,
                               enum npu_field before, enum npu_field multiplier,
                               struct npu_input_scale *scale)
{
    uint32_t right, left;
    if (!npu_get_field(npu, shift, &right) || !npu_get_field(npu, before, &left) ||
        !npu_get_field(npu, multiplier, &scale->scale.multiplier) ||
        !npu_decode_rounding(npu, rounding, npu->product->family->input_rounding,
                             &scale->rounding)) {
        return false;
    }
    scale->before = left;
    scale->scale.shift = (uint8_t)(right + left);
    return true;
}

bool npu_decode_ifm_scale(struct npu *npu, struct npu_input_scale *scale)
{
    return decode_input_scale(npu, NPU_FIELD_IFM_ROUNDING, NPU_FIELD_IFM_SHIFT,
                              NPU_FIELD_IFM_DOUBLE_ROUND, NPU_FIELD_IFM_MULTIPLIER, scale);
}

bool npu_decode_ifm2_scale(struct npu *npu, struct npu_input_scale *scale)
{
    return decode_input_scale(npu, NPU_FIELD_IFM2_ROUNDING, NPU_FIELD_IFM2_SHIFT,
                              NPU_FIELD_IFM2_DOUBLE_ROUND, NPU_FIELD_IFM2_MULTIPLIER, scale);
}

bool npu_output_open(struct npu *npu, struct npu_output *output)
{
    uint32_t global;
    if (!npu_decode_ofm(npu, &output->map) ||
        !npu_get_field(npu, NPU_FIELD_OFM_GLOBAL_SCALE, &global) ||
        !npu_get_field(npu, NPU_FIELD_OFM_REVERSE, &output->reverse) ||
        !npu_get_field(npu, NPU_FIELD_OFM_TRANSPOSE, &output->transpose) ||
        !npu_decode_rounding(npu, NPU_FIELD_OFM_ROUNDING, npu->product->family->output_rounding,
                             &output->rounding)) {
        return false;
    }
    output->global_scale = global != 0;
    if (!npu_activation_open(npu, output)) {
        return false;
    }
    bool adds_zero = output->map.bits < 32 || output->activation == NPU_ACTIVATION_TABLE;
    output->zero_point = adds_zero ? output->map.zero_point : 0;
    return npu_arrange_open(npu, output);
}

bool npu_output_scale(struct npu *npu, struct npu_scale *scale)
{
    uint64_t value;
    uint32_t shift, before;
    if (!npu_get(npu, NPU_SET_OFM_SCALE, &value) ||
        !npu_get_field(npu, NPU_FIELD_OFM_SHIFT, &shift) ||
        !npu_get_field(npu, NPU_FIELD_OFM_DOUBLE_ROUND, &before)) {
        return false;
    }
    *scale = (struct npu_scale){(uint32_t)value, (uint8_t)shift};
    return before == 0 || npu_fail(npu, NPU_FAULT_PARSE, "has an OFM scale of dbl_rnd %u", before);
}

/** Values past any 32-bit one behave like the nearest one. */
static int64_t narrow(int64_t scaled)
{
    return npu_clamp(scaled, -((int64_t)1 << 40), (int64_t)1 << 40);
}

/** Without any clamp the low bits are what is stored, or what indexes the table. */
static int32_t wrap(const struct npu_output *output, int64_t scaled)
{
    uint32_t value = (uint32_t)scaled + (uint32_t)output->zero_point;
    if (output->activation == NPU_ACTIVATION_NONE) {
        return (int32_t)value;
    }
    uint32_t mask = (1u << output->form->index_bits) - 1;
    return output->form->look_up(output->table, (value - (uint32_t)output->table_origin) & mask);
}

/** Zero point, clamp, function: one value before it is stored. */
static int32_t finish(const struct npu_output *output, int64_t scaled)
{
    if (output->wraps) {
        return wrap(output, scaled);
    }
    bool curve = output->activation == NPU_ACTIVATION_CURVE;
    int64_t value = curve ? output->curve(output->table, narrow(scaled)) : narrow(scaled);
    value = npu_clamp(value + output->zero_point, output->minimum, output->maximum);
    if (output->activation == NPU_ACTIVATION_TABLE) {
        return output->form->look_up(output->table, (uint32_t)(value - output->table_origin));
    }
    return (int32_t)value;
}

bool npu_output_write(struct npu *npu, const struct npu_output *output, uint32_t y, uint32_t x,
                      uint32_t count, const int64_t *scaled)
{
    if (output->map.bits == 64) {
        return npu_write_pixels_64(npu, &output->map, y, x, count, scaled);
    }
    size_t values = (size_t)count * output->map.depth;
    int32_t *result = npu_scratch_get(npu, NPU_BUFFER_RESULT, values, sizeof *result);
    if (result == NULL) {
        return false;
    }
    for (size_t i = 0; i < values; i++) {
        result[i] = finish(output, scaled[i]);
    }
    return npu_write_pixels(npu, &output->map, y, x, count, result);
}

void npu_scale_all(int64_t *values, size_t count, struct npu_scale scale,
                   enum npu_rounding rounding)
{
    if (scale.multiplier == 1 && scale.shift == 0) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        values[i] = npu_round_scale(values[i], scale, rounding);
    }
}

void npu_scale_channels(int64_t *values, size_t pixels, size_t channels,
                        const struct npu_channel_scale *scales, unsigned accumulator_bits,
                        enum npu_rounding rounding)
{
    for (size_t i = 0; i < pixels; i++) {
        for (size_t c = 0; c < channels; c++) {
            int64_t *value = &values[i * channels + c];
            uint64_t sum = (uint64_t)*value + (uint64_t)scales[c].bias;
            *value =
                npu_round_scale(npu_sign_extend(sum, accumulator_bits), scales[c].scale, rounding);
        }
    }
}
