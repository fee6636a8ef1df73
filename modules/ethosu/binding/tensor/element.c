// SPDX-License-Identifier: MIT
/** Reading, writing, quantising one number; see element.h. */
#include "binding/tensor/element.h"

#include <math.h>
#include <string.h>

#include "binding/call/arguments.h"
#include "ethosu_model.h"
#include "py/binary.h"
#include "py/runtime.h"

/** Properties of a typecode. */
static const struct kind {
    char typecode;
    uint8_t width; /**< bytes */
    float lowest;
    float highest; /**< the largest float that is not above the type's maximum */
} kinds[] = {
    {'b', 1, -128.0f, 127.0f},
    {'B', 1, 0.0f, 255.0f},
    {'h', 2, -32768.0f, 32767.0f},
    {'H', 2, 0.0f, 65535.0f},
    {'i', 4, -2147483648.0f, 2147483520.0f},
    {'I', 4, 0.0f, 4294967040.0f},
    {'l', 4, -2147483648.0f, 2147483520.0f},
    {'L', 4, 0.0f, 4294967040.0f},
    {'q', 8, -9223372036854775808.0f, 9223371487098961920.0f},
    {'Q', 8, 0.0f, 18446742974197923840.0f},
    {'f', 4, 0.0f, 0.0f},
    {'d', 8, 0.0f, 0.0f},
};

static const struct kind *kind_of(char typecode)
{
    for (size_t i = 0; i < MP_ARRAY_SIZE(kinds); i++) {
        if (kinds[i].typecode == typecode) {
            return &kinds[i];
        }
    }
    return NULL;
}

char element_typecode(uint32_t type)
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

size_t element_width(char typecode)
{
    const struct kind *kind = kind_of(typecode);
    return kind == NULL ? 0 : kind->width;
}

bool element_buffer(mp_obj_t object, mp_buffer_info_t *buffer)
{
    return !mp_obj_is_str(object) && mp_get_buffer(object, buffer, MP_BUFFER_READ);
}

bool element_source(mp_obj_t object, struct numbers *numbers)
{
    mp_buffer_info_t buffer;
    if (mp_obj_is_type(object, &mp_type_list) || mp_obj_is_type(object, &mp_type_tuple)) {
        mp_obj_t *items;
        mp_obj_get_array(object, &numbers->count, &items);
        numbers->items = items;
        return true;
    }
    if (!element_buffer(object, &buffer)) {
        return false;
    }
    char typecode = buffer.typecode == BYTEARRAY_TYPECODE ? 'B' : (char)buffer.typecode;
    size_t width = element_width(typecode);
    if (width == 0) {
        return false;
    }
    binding_check_memory(buffer.buf, buffer.len, "numbers");
    *numbers = (struct numbers){NULL, buffer.buf, buffer.len / width, typecode};
    return true;
}

/** Integers of up to 32 bits, signed and unsigned; views of them may be misaligned. */
static mp_float_t get_integer(const uint8_t *at, size_t width, bool is_signed)
{
    uint64_t bits = 0;
    memcpy(&bits, at, width);
    unsigned unused = 64 - 8 * (unsigned)width;
    return is_signed ? (mp_float_t)((int64_t)(bits << unused) >> unused) : (mp_float_t)bits;
}

/** A float, an int or a bool; another object's __float__() could run Python and change its list. */
static mp_float_t number_of(mp_obj_t item)
{
    if (!mp_obj_is_float(item) && !mp_obj_is_int(item) && !mp_obj_is_bool(item)) {
        mp_raise_msg_varg(&mp_type_TypeError, MP_ERROR_TEXT("can't convert %s to float"),
                          mp_obj_get_type_str(item));
    }
    return mp_obj_get_float(item);
}

mp_float_t element_get(const struct numbers *numbers, size_t index)
{
    if (numbers->items != NULL) {
        return number_of(numbers->items[index]);
    }
    size_t width = element_width(numbers->typecode);
    const uint8_t *at = (const uint8_t *)numbers->data + index * width;
    if (numbers->typecode == 'f') {
        float value;
        memcpy(&value, at, sizeof value);
        return (mp_float_t)value;
    }
    if (numbers->typecode == 'd') {
        double value;
        memcpy(&value, at, sizeof value);
        return (mp_float_t)value;
    }
    return get_integer(at, width, numbers->typecode >= 'a');
}

void element_put(void *data, char typecode, size_t index, mp_float_t value)
{
    const struct kind *kind = kind_of(typecode);
    uint8_t *at = (uint8_t *)data + index * kind->width;
    if (typecode == 'f') {
        float narrow = (float)value;
        memcpy(at, &narrow, sizeof narrow);
    } else if (typecode == 'd') {
        double wide = (double)value;
        memcpy(at, &wide, sizeof wide);
    } else {
        mp_float_t rounded = MICROPY_FLOAT_C_FUN(round)(value);
        if (!(rounded > (mp_float_t)kind->lowest)) {
            rounded = isnan(rounded) ? 0 : (mp_float_t)kind->lowest;
        } else if (rounded > (mp_float_t)kind->highest) {
            rounded = (mp_float_t)kind->highest;
        }
        uint64_t bits = rounded < 0 ? (uint64_t)(int64_t)rounded : (uint64_t)rounded;
        memcpy(at, &bits, kind->width);
    }
}

void element_put_quantized(void *data, char typecode, size_t index, float value,
                           const struct quantization *quantization)
{
    if (quantization->scale == 0.0f) {
        element_put(data, typecode, index, (mp_float_t)value);
    } else {
        float steps = isnan(value) ? 0.0f : roundf(value / quantization->scale);
        element_put(data, typecode, index, (mp_float_t)steps + quantization->zero_point);
    }
}

float element_real(mp_float_t raw, const struct quantization *quantization)
{
    // Chosen first: GCC 12 makes the conversion conditional at -Os, which its assembler refuses.
    const bool quantized = quantization->scale != 0.0f;
    const int32_t zero_point = quantized ? quantization->zero_point : 0;
    const float scale = quantized ? quantization->scale : 1.0f;
    return (float)((raw - (mp_float_t)zero_point) * (mp_float_t)scale);
}
