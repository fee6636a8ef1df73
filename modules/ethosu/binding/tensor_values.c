// SPDX-License-Identifier: MIT
/** Real and raw values of a tensor, from and to the caller's objects; see python_values.h. */
#include "python_values.h"

#include "arguments.h"
#include "driver/base/ethosu_text.h"
#include "py/binary.h"
#include "py/objarray.h"
#include "py/runtime.h"

mp_float_t numbers_from_object(mp_obj_t item)
{
    if (!mp_obj_is_float(item) && !mp_obj_is_int(item) && !mp_obj_is_bool(item)) {
        mp_raise_msg_varg(&mp_type_TypeError, MP_ERROR_TEXT("can't convert %s to float"),
                          mp_obj_get_type_str(item));
    }
    return mp_obj_get_float(item);
}

static _Noreturn void raise_count(const char *what, size_t found, size_t expected)
{
    mp_raise_msg_varg(&mp_type_ValueError, MP_ERROR_TEXT("%s: %d values given, expected %d"), what,
                      (int)found, (int)expected);
}

/** Numbers of an object, as many as expected; raises. */
static void get_numbers(mp_obj_t object, size_t expected, const char *what, struct numbers *numbers)
{
    if (!numbers_of(object, numbers)) {
        mp_raise_msg_varg(&mp_type_TypeError,
                          MP_ERROR_TEXT("%s is of type %s, expected a buffer or list of numbers"),
                          what, mp_obj_get_type_str(object));
    }
    if (numbers->count != expected) {
        raise_count(what, numbers->count, expected);
    }
}

void values_get_tensor(const struct ethosu_model *model, uint32_t index,
                       struct ethosu_model_tensor *tensor)
{
    // The model's buffer belongs to the caller and may have changed since it was loaded.
    if (!ethosu_model_get_tensor(model, index, tensor)) {
        mp_raise_ValueError(MP_ERROR_TEXT("the model's file was changed after it was loaded"));
    }
}

void values_quantize_object(const struct ethosu_model *model, uint32_t index, mp_obj_t object,
                            void *bytes, const char *what)
{
    struct ethosu_model_tensor tensor;
    struct numbers numbers;
    values_get_tensor(model, index, &tensor);
    get_numbers(object, values_count(&tensor), what, &numbers);
    values_quantize(model, index, &tensor, &numbers, bytes);
}

mp_obj_array_t *values_new_array(uint32_t type, size_t size)
{
    mp_obj_array_t *array = m_new_obj(mp_obj_array_t);
    const char typecode = values_typecode(type);
    *array = (mp_obj_array_t){
        .base = {&mp_type_array},
        .typecode = (size_t)typecode,
        .len = typecode == 'B' ? size : size / ethosu_model_type_size(type), // float16: bytes
        .items = m_new(uint8_t, size),
    };
    return array;
}

mp_obj_array_t *values_new_floats(size_t count)
{
    return values_new_array(ETHOSU_TYPE_FLOAT32, count * sizeof(float));
}

void values_fill_floats(const struct ethosu_model *model, uint32_t index, const void *bytes,
                        void *floats)
{
    struct ethosu_model_tensor tensor;
    values_get_tensor(model, index, &tensor);
    struct numbers raw = {NULL, bytes, values_count(&tensor), values_typecode(tensor.type)};
    values_dequantize(model, index, &tensor, &raw, floats, 'f');
}

void values_check_raw(uint32_t type, size_t size, const mp_buffer_info_t *given, const char *what,
                      int index)
{
    char name[24];
    struct ethosu_text text = {name, sizeof name, 0};
    if (values_accept(type, given->typecode) && given->len == size) {
        binding_check_memory(given->buf, size, what);
        return;
    }
    ethosu_ext_text_print(&text, index < 0 ? "%s" : "%s %d", what, index);
    (void)ethosu_ext_text_end(&text);
    if (!values_accept(type, given->typecode)) {
        mp_raise_msg_varg(&mp_type_TypeError,
                          MP_ERROR_TEXT("%s has typecode '%c', expected '%c' (%s), "
                                        "or a bytearray of raw bytes"),
                          name, given->typecode, values_typecode(type),
                          ethosu_model_type_name(type));
    }
    mp_raise_msg_varg(&mp_type_ValueError, MP_ERROR_TEXT("%s has %d bytes, expected %d (%s)"), name,
                      (int)given->len, (int)size, ethosu_model_type_name(type));
}

/** Raw values to read; a bytearray has the layout of the tensor's memory. Raises. */
static void get_raw(mp_obj_t given, const struct ethosu_model_tensor *tensor, struct numbers *raw)
{
    mp_buffer_info_t buffer;
    size_t expected = values_count(tensor);
    bool bytes = numbers_buffer(given, &buffer) &&
                 (buffer.typecode == BYTEARRAY_TYPECODE || buffer.typecode == 'B');
    if (bytes) {
        values_check_raw(tensor->type, buffer.len, &buffer, "raw", -1); // numbers may be fewer
    }
    if (bytes && buffer.len == tensor->size) {
        *raw = (struct numbers){NULL, buffer.buf, expected, values_typecode(tensor->type)};
    } else {
        get_numbers(given, expected, "raw", raw);
    }
}

void values_quantize_into(const struct ethosu_model *model, uint32_t index, mp_obj_t numbers,
                          mp_obj_t into, const char *what)
{
    struct ethosu_model_tensor tensor;
    mp_buffer_info_t memory;
    values_get_tensor(model, index, &tensor);
    binding_get_buffer(into, &memory, MP_BUFFER_WRITE, what);
    values_check_raw(tensor.type, tensor.size, &memory, what, -1);
    values_quantize_object(model, index, numbers, memory.buf, "numbers");
}

mp_obj_t values_dequantize_into(const struct ethosu_model *model, uint32_t index, mp_obj_t given,
                                mp_obj_t into)
{
    struct ethosu_model_tensor tensor;
    struct numbers raw;
    mp_buffer_info_t memory;
    values_get_tensor(model, index, &tensor);
    get_raw(given, &tensor, &raw);
    into = into == mp_const_none ? MP_OBJ_FROM_PTR(values_new_floats(raw.count)) : into;
    binding_get_memory(into, &memory, MP_BUFFER_WRITE, "into");
    char typecode = (char)memory.typecode;
    if (typecode != 'f' && typecode != 'd') {
        mp_raise_TypeError(MP_ERROR_TEXT("into: expected an array('f') or array('d')"));
    }
    if (memory.len / numbers_width(typecode) != raw.count) {
        raise_count("into", memory.len / numbers_width(typecode), raw.count);
    }
    values_dequantize(model, index, &tensor, &raw, memory.buf, typecode);
    return into;
}
