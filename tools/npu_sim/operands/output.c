// SPDX-License-Identifier: MIT
/** The output stage: scale, round, zero point, clamp, activation, store. */
#include "operands/output.h"

#include "core/npu_internal.h"
#include "memory/feature_map.h"

/** Values beyond the 32-bit range behave like the nearest 32-bit value. */
static int64_t narrow(int64_t scaled)
{
    return npu_clamp(scaled, -((int64_t)1 << 40), (int64_t)1 << 40);
}

/** Without a clamp, the low bits are stored or index the table. */
static int32_t wrap(const struct npu_output *output, int64_t scaled)
{
    uint32_t value = (uint32_t)scaled + (uint32_t)output->zero_point;
    if (output->activation == NPU_ACTIVATION_NONE) {
        return (int32_t)value;
    }
    uint32_t mask = (1u << output->form->index_bits) - 1;
    return output->form->look_up(output->table, (value - (uint32_t)output->table_origin) & mask);
}

/** Apply zero point, clamp and function to one value before it is stored. */
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
