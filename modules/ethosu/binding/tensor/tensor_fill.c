// SPDX-License-Identifier: MIT
/** All numbers of one tensor: checks, and the loops over its channels; see tensor_fill.h. */
#include "binding/tensor/tensor_fill.h"

#include "binding/call/arguments.h"
#include "driver/base/ethosu_text.h"
#include "py/binary.h"
#include "py/runtime.h"

void tensor_get(const struct ethosu_model *model, uint32_t index,
                struct ethosu_model_tensor *tensor)
{
    // The model's buffer belongs to the caller and may have changed since it was loaded.
    if (!ethosu_model_get_tensor(model, index, tensor)) {
        mp_raise_ValueError(MP_ERROR_TEXT("the model's file was changed after it was loaded"));
    }
}

size_t tensor_count(uint32_t type, size_t size)
{
    const uint32_t width = ethosu_model_type_size(type);
    return size / MAX(width, 1);
}

struct quantization tensor_channel(const struct ethosu_model *model, uint32_t index,
                                   uint32_t channel)
{
    struct quantization quantization = {0.0f, 0};
    (void)ethosu_model_get_channel(model, index, channel, &quantization.scale,
                                   &quantization.zero_point);
    return quantization;
}

mp_obj_array_t *tensor_new_array(uint32_t type, size_t size)
{
    mp_obj_array_t *array = m_new_obj(mp_obj_array_t);
    const char typecode = element_typecode(type);
    *array = (mp_obj_array_t){
        .base = {&mp_type_array},
        .typecode = (size_t)typecode,
        .len = typecode == 'B' ? size : size / ethosu_model_type_size(type), // float16: bytes
        .items = m_new(uint8_t, size),
    };
    return array;
}

mp_obj_array_t *tensor_new_floats(size_t count)
{
    return tensor_new_array(ETHOSU_TYPE_FLOAT32, count * sizeof(float));
}

/* ---- checks ---- */

static _Noreturn void raise_count(const char *what, size_t found, size_t expected)
{
    mp_raise_msg_varg(&mp_type_ValueError, MP_ERROR_TEXT("%s: %d values given, expected %d"), what,
                      (int)found, (int)expected);
}

/** Numbers of an object, as many as expected; raises. */
static void get_numbers(mp_obj_t object, size_t expected, const char *what, struct numbers *numbers)
{
    if (!element_source(object, numbers)) {
        mp_raise_msg_varg(&mp_type_TypeError,
                          MP_ERROR_TEXT("%s is of type %s, expected a buffer or list of numbers"),
                          what, mp_obj_get_type_str(object));
    }
    if (numbers->count != expected) {
        raise_count(what, numbers->count, expected);
    }
}

void *tensor_bytes(uint32_t type, size_t size, const mp_buffer_info_t *given, const char *what,
                   int index)
{
    // A bytearray holds raw bytes of any type; bytes and array('B') hold uint8 numbers.
    const bool fits =
        given->typecode == element_typecode(type) || given->typecode == BYTEARRAY_TYPECODE;
    if (fits && given->len == size) {
        binding_check_memory(given->buf, size, what);
        return given->buf;
    }
    char name[24];
    struct ethosu_text text = {name, sizeof name, 0};
    ethosu_ext_text_print(&text, index < 0 ? "%s" : "%s %d", what, index);
    (void)ethosu_ext_text_end(&text);
    if (!fits) {
        mp_raise_msg_varg(&mp_type_TypeError,
                          MP_ERROR_TEXT("%s has typecode '%c', expected '%c' (%s), "
                                        "or a bytearray of raw bytes"),
                          name, given->typecode, element_typecode(type),
                          ethosu_model_type_name(type));
    }
    mp_raise_msg_varg(&mp_type_ValueError, MP_ERROR_TEXT("%s has %d bytes, expected %d (%s)"), name,
                      (int)given->len, (int)size, ethosu_model_type_name(type));
}

/** Raw values to read; a bytearray has the layout of the tensor's memory. Raises. */
static void get_raw(mp_obj_t given, const struct ethosu_model_tensor *tensor, struct numbers *raw)
{
    mp_buffer_info_t buffer;
    size_t expected = tensor_count(tensor->type, tensor->size);
    bool bytes = element_buffer(given, &buffer) &&
                 (buffer.typecode == BYTEARRAY_TYPECODE || buffer.typecode == 'B');
    if (bytes) {
        (void)tensor_bytes(tensor->type, buffer.len, &buffer, "raw", -1); // may be fewer numbers
    }
    if (bytes && buffer.len == tensor->size) {
        *raw = (struct numbers){NULL, buffer.buf, expected, element_typecode(tensor->type)};
    } else {
        get_numbers(given, expected, "raw", raw);
    }
}

/* ---- loops ---- */

/** Elements in a row with the same scale and zero point; the rows of all channels alternate. */
struct run {
    const struct ethosu_model *model;
    uint32_t index; /**< of the tensor */
    uint32_t channels;
    uint32_t next; /**< channel */
    size_t length; /**< elements */
    size_t total;
    size_t start;
    size_t end;
    struct quantization quantization;
};

/** Before the first run of a tensor that has `total` elements. */
static struct run no_run(const struct ethosu_model *model, uint32_t index,
                         const struct ethosu_model_tensor *tensor, size_t total)
{
    struct run run = {
        .model = model,
        .index = index,
        .channels = MAX(tensor->channels, 1),
        .length = tensor->channels > 1 ? 1 : total,
        .total = total,
        .start = total,
    };
    for (uint32_t i = tensor->axis + 1; tensor->channels > 1 && i < tensor->rank; i++) {
        run.length *= (size_t)tensor->shape[i];
    }
    return run;
}

/** Go to the next run, by channel, each of which is looked up once; false: that was the last. */
static bool next_run(struct run *run)
{
    const size_t step = run->length * run->channels;
    if (run->total - run->start > step) {
        run->start += step;
    } else if (run->next < run->channels) {
        run->start = run->next * run->length;
        run->quantization = tensor_channel(run->model, run->index, run->next++);
    } else {
        return false;
    }
    run->end = MIN(run->start + run->length, run->total);
    return run->start < run->total;
}

void tensor_fill_raw(const struct ethosu_model *model, uint32_t index, mp_obj_t object, void *bytes,
                     const char *what)
{
    struct ethosu_model_tensor tensor;
    struct numbers numbers;
    tensor_get(model, index, &tensor);
    get_numbers(object, tensor_count(tensor.type, tensor.size), what, &numbers);
    for (size_t i = 0; numbers.items != NULL && i < numbers.count; i++) {
        (void)element_get(&numbers, i); // raises before anything is written
    }
    const char typecode = element_typecode(tensor.type);
    struct run run = no_run(model, index, &tensor, numbers.count);
    while (next_run(&run)) {
        for (size_t i = run.start; i < run.end; i++) {
            element_put_quantized(bytes, typecode, i, (float)element_get(&numbers, i),
                                  &run.quantization);
        }
    }
}

/** Write the real values of a tensor's raw ones to as many floats of typecode 'f' or 'd'. */
static void fill_real(const struct ethosu_model *model, uint32_t index,
                      const struct ethosu_model_tensor *tensor, const struct numbers *raw,
                      void *floats, char typecode)
{
    struct run run = no_run(model, index, tensor, raw->count);
    while (next_run(&run)) {
        for (size_t i = run.start; i < run.end; i++) {
            element_put(floats, typecode, i,
                        (mp_float_t)element_real(element_get(raw, i), &run.quantization));
        }
    }
}

void tensor_fill_real(const struct ethosu_model *model, uint32_t index, const void *bytes,
                      float *floats)
{
    struct ethosu_model_tensor tensor;
    tensor_get(model, index, &tensor);
    struct numbers raw = {NULL, bytes, tensor_count(tensor.type, tensor.size),
                          element_typecode(tensor.type)};
    fill_real(model, index, &tensor, &raw, floats, 'f');
}

void tensor_fill_raw_into(const struct ethosu_model *model, uint32_t index, mp_obj_t numbers,
                          mp_obj_t into, const char *what)
{
    struct ethosu_model_tensor tensor;
    mp_buffer_info_t memory;
    tensor_get(model, index, &tensor);
    binding_get_buffer(into, &memory, MP_BUFFER_WRITE, what);
    void *bytes = tensor_bytes(tensor.type, tensor.size, &memory, what, -1);
    tensor_fill_raw(model, index, numbers, bytes, "numbers");
}

mp_obj_t tensor_real_into(const struct ethosu_model *model, uint32_t index, mp_obj_t given,
                          mp_obj_t into)
{
    struct ethosu_model_tensor tensor;
    struct numbers raw;
    mp_buffer_info_t memory;
    tensor_get(model, index, &tensor);
    get_raw(given, &tensor, &raw);
    into = into == mp_const_none ? MP_OBJ_FROM_PTR(tensor_new_floats(raw.count)) : into;
    binding_get_memory(into, &memory, MP_BUFFER_WRITE, "into");
    char typecode = (char)memory.typecode;
    if (typecode != 'f' && typecode != 'd') {
        mp_raise_TypeError(MP_ERROR_TEXT("into: expected an array('f') or array('d')"));
    }
    if (memory.len / element_width(typecode) != raw.count) {
        raise_count("into", memory.len / element_width(typecode), raw.count);
    }
    fill_real(model, index, &tensor, &raw, memory.buf, typecode);
    return into;
}
