// SPDX-License-Identifier: MIT
/** Constant tensors of integers; see integers.h. */
#include "runtime/kernels/shared/integers.h"

#include <string.h>

bool integer_type(uint32_t type)
{
    return type == ETHOSU_TYPE_INT32 || type == ETHOSU_TYPE_INT64 || type == ETHOSU_TYPE_INT16;
}

int64_t integer_at(const void *data, uint32_t type, int32_t index)
{
    const uint8_t *bytes = data;
    int64_t wide;
    int32_t middle;
    int16_t narrow;
    // Use memcpy, because constants may be misaligned while measuring.
    switch (type) {
    case ETHOSU_TYPE_INT64:
        memcpy(&wide, bytes + (size_t)index * sizeof wide, sizeof wide);
        return wide;
    case ETHOSU_TYPE_INT16:
        memcpy(&narrow, bytes + (size_t)index * sizeof narrow, sizeof narrow);
        return narrow;
    default:
        memcpy(&middle, bytes + (size_t)index * sizeof middle, sizeof middle);
        return middle;
    }
}

int integers_read(struct builder *builder, const struct tflite_operator_call *call, uint32_t index,
                  uint32_t count, struct integers *integers)
{
    struct kernel_tensor tensor;
    TRY(kernel_input(builder, call, index, &tensor));
    *integers = (struct integers){0};
    if (!tensor.constant) {
        return kernel_unsupported(builder, "an input that must be constant is computed");
    }
    if (!integer_type(tensor.type)) {
        return kernel_bad_type(builder);
    }
    uint32_t length = (uint32_t)tensor.count;
    if (count == 0 ? length > ETHOSU_MODEL_MAX_RANK : length != count || count > INTEGERS_MAX) {
        return kernel_bad(builder, "a constant input has the wrong number of elements");
    }
    integers->count = length;
    for (uint32_t i = 0; i < length; i++) {
        int64_t value = integer_at(tensor.data, tensor.type, (int32_t)i);
        integers->value[i] = value > INT32_MAX   ? INT32_MAX
                             : value < INT32_MIN ? INT32_MIN
                                                 : (int32_t)value;
    }
    return ETHOSU_MODEL_OK;
}
