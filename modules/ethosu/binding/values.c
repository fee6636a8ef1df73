// SPDX-License-Identifier: MIT
/** Real values of a model's tensors; see python_values.h. */
#include "python_values.h"

#include "py/runtime.h"

char values_typecode(uint32_t type)
{
    static const char codes[] = {
        [ETHOSU_TYPE_FLOAT32] = 'f', [ETHOSU_TYPE_FLOAT64] = 'd', [ETHOSU_TYPE_BOOL] = 'B',
        [ETHOSU_TYPE_INT8] = 'b',    [ETHOSU_TYPE_UINT8] = 'B',   [ETHOSU_TYPE_INT16] = 'h',
        [ETHOSU_TYPE_UINT16] = 'H',  [ETHOSU_TYPE_INT32] = 'i',   [ETHOSU_TYPE_UINT32] = 'I',
        [ETHOSU_TYPE_INT64] = 'q',   [ETHOSU_TYPE_UINT64] = 'Q',
    };
    char code = type < sizeof codes ? codes[type] : 0;
    return code == 0 ? 'B' : code;
}

size_t values_count(const struct ethosu_model_tensor *tensor)
{
    return tensor->size / MAX(ethosu_model_type_size(tensor->type), 1);
}

/** A channel has runs of consecutive elements; the runs of all channels alternate. */
struct channels {
    uint32_t count;
    size_t run; /**< elements of one channel in a row */
};

static struct channels channels_of(const struct ethosu_model_tensor *tensor, size_t total)
{
    struct channels channels = {MAX(tensor->channels, 1), 1};
    if (channels.count == 1) {
        channels.run = total;
        return channels;
    }
    for (uint32_t i = tensor->axis + 1; i < tensor->rank; i++) {
        channels.run *= (size_t)tensor->shape[i];
    }
    return channels;
}

struct quantization values_channel(const struct ethosu_model *model, uint32_t index,
                                   uint32_t channel)
{
    struct quantization quantization = {0.0f, 0};
    (void)ethosu_model_get_channel(model, index, channel, &quantization.scale,
                                   &quantization.zero_point);
    return quantization;
}

void values_quantize(const struct ethosu_model *model, uint32_t index,
                     const struct ethosu_model_tensor *tensor, const struct numbers *numbers,
                     void *bytes)
{
    for (size_t i = 0; numbers->items != NULL && i < numbers->count; i++) {
        (void)numbers_get(numbers, i); // raises before anything is written
    }
    char typecode = values_typecode(tensor->type);
    struct channels channels = channels_of(tensor, numbers->count);
    for (uint32_t c = 0; c < channels.count; c++) {
        struct quantization quantization = values_channel(model, index, c);
        for (size_t start = c * channels.run; start < numbers->count;
             start += channels.run * channels.count) {
            for (size_t i = start; i < start + channels.run && i < numbers->count; i++) {
                numbers_put_quantized(bytes, typecode, i, (float)numbers_get(numbers, i),
                                      &quantization);
            }
        }
    }
}

void values_dequantize(const struct ethosu_model *model, uint32_t index,
                       const struct ethosu_model_tensor *tensor, const struct numbers *raw,
                       void *floats, char typecode)
{
    struct channels channels = channels_of(tensor, raw->count);
    for (uint32_t c = 0; c < channels.count; c++) {
        struct quantization quantization = values_channel(model, index, c);
        for (size_t start = c * channels.run; start < raw->count;
             start += channels.run * channels.count) {
            for (size_t i = start; i < start + channels.run && i < raw->count; i++) {
                numbers_put(floats, typecode, i,
                            (mp_float_t)numbers_dequantize(numbers_get(raw, i), &quantization));
            }
        }
    }
}
