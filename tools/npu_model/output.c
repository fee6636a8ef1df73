// SPDX-License-Identifier: MIT
/** The output stage: scale, round, zero point, clamp, activation, store. */
#include "output.h"

#include <inttypes.h>

#include "npu_internal.h"

enum {
    TABLE_FIRST = 16,
    TABLE_LAST = 23,
    TABLE_SLOT_BYTES = 256,
    LUT_GRANULE = 64, /**< bytes per bit of lut_written */
};

/** Values of the clip range field. */
enum { CLIP_OFM = 0, CLIP_UINT8 = 2, CLIP_INT8 = 3, CLIP_INT16 = 5 };

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

static bool decode_table(struct npu *npu, struct npu_output *output, unsigned slot)
{
    unsigned bytes = npu_table_bytes(output->map.bits);
    unsigned start = slot * TABLE_SLOT_BYTES;
    if (start % bytes != 0) {
        return npu_fail(npu, NPU_FAULT_PARSE, "uses table slot %u for a table of %u bytes", slot,
                        bytes);
    }
    for (unsigned at = start; at < start + bytes; at += LUT_GRANULE) {
        if ((npu->lut_written >> (at / LUT_GRANULE) & 1) == 0) {
            return npu_fail(npu, NPU_FAULT_PARSE,
                            "uses table slot %u: no DMA has filled byte %u of it", slot,
                            at - start);
        }
    }
    output->table = npu->lut + start;
    return true;
}

static bool decode_function(struct npu *npu, struct npu_output *output, unsigned function)
{
    if (function != 0 && npu->product->family->index == NPU_U85) {
        return npu_fail(npu, NPU_FAULT_PARSE, "has activation function %u, not supported",
                        function);
    }
    if (function >= TABLE_FIRST && function <= TABLE_LAST) {
        output->activation = NPU_ACTIVATION_TABLE;
        return decode_table(npu, output, function - TABLE_FIRST);
    }
    output->activation = (enum npu_activation)function;
    bool known = function == NPU_ACTIVATION_NONE ||
                 ((function == NPU_ACTIVATION_TANH || function == NPU_ACTIVATION_SIGMOID) &&
                  output->map.bits == 16);
    return known || npu_fail(npu, NPU_FAULT_PARSE, "has activation function %u with a %u-bit OFM",
                             function, output->map.bits);
}

/** Every clamped value has to be an index into the table. */
static bool check_table_range(struct npu *npu, struct npu_output *output, bool force_unsigned)
{
    const struct npu_feature_map *map = &output->map;
    int64_t last = map->bits == 16 ? UINT16_MAX : UINT8_MAX;
    bool is_signed = map->is_signed && !force_unsigned;
    output->table_origin = is_signed ? -(last + 1) / 2 : 0;
    int64_t low = output->minimum - output->table_origin;
    int64_t high = output->maximum - output->table_origin;
    if (low >= 0 && low <= last && high >= 0 && high <= last && (map->bits != 16 || is_signed)) {
        return true;
    }
    return npu_fail(npu, NPU_FAULT_PARSE,
                    "clamps to %" PRId64 "..%" PRId64 ", which its table does not cover",
                    output->minimum, output->maximum);
}

/** Range of the values before they are stored, or before they index a table. */
static bool decode_clamp(struct npu *npu, struct npu_output *output, unsigned clip)
{
    uint64_t low, high;
    if (!npu_get(npu, NPU_SET_ACTIVATION_MIN, &low) ||
        !npu_get(npu, NPU_SET_ACTIVATION_MAX, &high)) {
        return false;
    }
    const struct npu_feature_map *map = &output->map;
    bool table = output->activation == NPU_ACTIVATION_TABLE;
    output->minimum = map->is_signed ? (int16_t)low : (uint16_t)low;
    output->maximum = map->is_signed ? (int16_t)high : (uint16_t)high;
    int64_t type_low = npu_map_minimum(map);
    int64_t type_high = npu_map_maximum(map);
    if (clip == CLIP_OFM && map->bits == 32 && !table) {
        output->minimum = type_low;
        output->maximum = type_high;
    }
    switch (clip) {
    case CLIP_OFM:
        break;
    case CLIP_UINT8:
        type_low = 0;
        type_high = UINT8_MAX;
        break;
    case CLIP_INT8:
        type_low = INT8_MIN;
        type_high = INT8_MAX;
        break;
    case CLIP_INT16:
        type_low = INT16_MIN;
        type_high = INT16_MAX;
        break;
    default:
        return npu_fail(npu, NPU_FAULT_PARSE, "has activation clip range %u", clip);
    }
    output->minimum = npu_clamp(output->minimum, type_low, type_high);
    output->maximum = npu_clamp(output->maximum, type_low, type_high);
    return !table || check_table_range(npu, output, clip == CLIP_UINT8);
}

bool npu_output_open(struct npu *npu, struct npu_output *output)
{
    uint32_t global, function, clip;
    if (!npu_decode_ofm(npu, &output->map) ||
        !npu_get_field(npu, NPU_FIELD_OFM_GLOBAL_SCALE, &global) ||
        !npu_get_field(npu, NPU_FIELD_OFM_REVERSE, &output->reverse) ||
        !npu_get_field(npu, NPU_FIELD_OFM_TRANSPOSE, &output->transpose) ||
        !npu_get_field(npu, NPU_FIELD_ACTIVATION_FUNCTION, &function) ||
        !npu_get_field(npu, NPU_FIELD_ACTIVATION_CLIP, &clip) ||
        !npu_decode_rounding(npu, NPU_FIELD_OFM_ROUNDING, npu->product->family->output_rounding,
                             &output->rounding)) {
        return false;
    }
    output->global_scale = global != 0;
    if (!decode_function(npu, output, function) || !decode_clamp(npu, output, clip)) {
        return false;
    }
    bool adds_zero = output->map.bits < 32 || output->activation == NPU_ACTIVATION_TABLE;
    output->zero_point = adds_zero ? output->map.zero_point : 0;
    return npu_map_open(npu, NPU_WRITE_OFM, &output->map);
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

static int64_t activate(const struct npu_output *output, int64_t scaled)
{
    int64_t value = scaled;
    if (output->activation == NPU_ACTIVATION_TANH) {
        value = npu_tanh(scaled);
    } else if (output->activation == NPU_ACTIVATION_SIGMOID) {
        value = npu_sigmoid(scaled);
    }
    return npu_clamp(npu_saturate64((npu_int128)value + output->zero_point), output->minimum,
                     output->maximum);
}

/** Values past any 32-bit one behave like the nearest one. */
static int64_t narrow(int64_t scaled)
{
    return npu_clamp(scaled, -((int64_t)1 << 40), (int64_t)1 << 40);
}

bool npu_output_write(struct npu *npu, const struct npu_output *output, uint32_t y, uint32_t x,
                      uint32_t count, const int64_t *scaled)
{
    size_t values = (size_t)count * output->map.depth;
    int32_t *result = npu_scratch_get(npu, NPU_BUFFER_RESULT, values, sizeof *result);
    if (result == NULL) {
        return false;
    }
    switch (output->activation) {
    case NPU_ACTIVATION_NONE:
        for (size_t i = 0; i < values; i++) {
            result[i] = (int32_t)npu_clamp(narrow(scaled[i]) + output->zero_point, output->minimum,
                                           output->maximum);
        }
        break;
    case NPU_ACTIVATION_TABLE:
        for (size_t i = 0; i < values; i++) {
            int64_t index =
                npu_clamp(narrow(scaled[i]) + output->zero_point, output->minimum, output->maximum);
            result[i] = npu_table_lookup(output->table, output->map.bits,
                                         (uint32_t)(index - output->table_origin));
        }
        break;
    default:
        for (size_t i = 0; i < values; i++) {
            result[i] = (int32_t)activate(output, scaled[i]);
        }
        break;
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
