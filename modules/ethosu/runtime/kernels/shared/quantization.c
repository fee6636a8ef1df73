// SPDX-License-Identifier: MIT
/** Converts scales and zero points to the constants of kernels. */
#include "runtime/kernels/shared/quantization.h"

#include <math.h>
#include <string.h>

bool rescale_from(double factor, struct rescale *rescale)
{
    *rescale = (struct rescale){0, 0};
    if (!(factor >= 0) || !isfinite(factor)) {
        return false;
    }
    // The double's bits represent mantissa * 2^(exponent - 1075); round the mantissa to 31 bits.
    uint64_t bits;
    memcpy(&bits, &factor, sizeof bits);
    int32_t shift = (int32_t)(bits >> 52 & 0x7FF) - 1022;
    uint64_t mantissa = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
    uint64_t multiplier = (mantissa + (1u << 21)) >> 22;
    if (multiplier == UINT64_C(1) << 31) {
        multiplier /= 2;
        shift++;
    }
    if (shift < -31) {
        return true; // too small: 0
    }
    *rescale = (struct rescale){(int32_t)multiplier, shift};
    return shift <= 30;
}

int need_rescale(struct builder *builder, double factor, struct rescale *rescale)
{
    return rescale_from(factor, rescale) ? ETHOSU_MODEL_OK
                                         : kernel_bad(builder, "combined scale is too large");
}

bool range_of_type(uint32_t type, struct range *range)
{
    switch (type) {
    case ETHOSU_TYPE_INT8:
        *range = (struct range){INT8_MIN, INT8_MAX};
        return true;
    case ETHOSU_TYPE_UINT8:
        *range = (struct range){0, UINT8_MAX};
        return true;
    case ETHOSU_TYPE_INT16:
        *range = (struct range){INT16_MIN, INT16_MAX};
        return true;
    case ETHOSU_TYPE_INT32:
        *range = (struct range){INT32_MIN, INT32_MAX};
        return true;
    default:
        return false;
    }
}

int need_quantized(struct builder *builder, const struct kernel_tensor *tensor)
{
    struct range range;
    if (!range_of_type(tensor->type, &range) || tensor->type == ETHOSU_TYPE_INT32) {
        return kernel_bad_type(builder);
    }
    if (tensor->channels == 0 || !(tensor->scale > 0.0F) || !isfinite(tensor->scale)) {
        return kernel_bad(builder, "a tensor has no scale above 0");
    }
    if (tensor->zero_point < range.low || tensor->zero_point > range.high ||
        (tensor->type == ETHOSU_TYPE_INT16 && tensor->zero_point != 0)) {
        return kernel_bad(builder, "a zero point is outside its type's range");
    }
    return ETHOSU_MODEL_OK;
}

/** Real bounds of each activation. */
static const struct {
    float low;
    float high;
} activations[] = {
    [ACTIVATION_NONE] = {-INFINITY, INFINITY},
    [ACTIVATION_RELU] = {0.0F, INFINITY},
    [ACTIVATION_RELU_N1_TO_1] = {-1.0F, 1.0F},
    [ACTIVATION_RELU6] = {0.0F, 6.0F},
};

int range_of_floats(struct builder *builder, uint32_t activation, float *low, float *high)
{
    if (activation > ACTIVATION_RELU6) {
        return kernel_unsupported(builder, "fused activation is not RELU, RELU6 or RELU_N1_TO_1");
    }
    *low = activations[activation].low;
    *high = activations[activation].high;
    return ETHOSU_MODEL_OK;
}

int32_t quantize_bound(float bound, const struct kernel_tensor *output, struct range range)
{
    double value = (double)roundf(bound / output->scale) + output->zero_point;
    return value < range.low ? range.low : value > range.high ? range.high : (int32_t)value;
}

int range_of_activation(struct builder *builder, uint32_t activation,
                        const struct kernel_tensor *output, struct range *range)
{
    struct range type;
    float low = 0.0F;
    float high = 0.0F;
    if (!range_of_type(output->type, &type)) {
        return kernel_bad_type(builder);
    }
    TRY(range_of_floats(builder, activation, &low, &high));
    range->low = quantize_bound(low, output, type);
    range->high = quantize_bound(high, output, type);
    return ETHOSU_MODEL_OK;
}
