// SPDX-License-Identifier: MIT
/** Inputs and outputs of a model, from and to the caller's objects; see exchange.h. */
#include "binding/model/exchange.h"

#include "arm_ethos_io_memcpy.h"
#include "binding/call/arguments.h"
#include "binding/tensor/tensor_fill.h"
#include "driver/base/ethosu_build.h"
#include "py/binary.h"
#include "py/objarray.h"
#include "py/objlist.h"
#include "py/runtime.h"

/** The sequence of buffers for inputs or outputs, with one per model tensor. Raises. */
static mp_obj_t *get_sequence(mp_obj_t given, size_t expected, const char *what)
{
    size_t count;
    mp_obj_t *items;
    mp_obj_get_array(given, &count, &items);
    if (count != expected) {
        mp_raise_msg_varg(&mp_type_ValueError, MP_ERROR_TEXT("%d %ss given, the model has %d"),
                          (int)count, what, (int)expected);
    }
    return items;
}

/** A tensor, and the caller's argument for it. */
struct exchange {
    const struct ethosu_model_buffer *tensor;
    mp_obj_t given;
    void *raw; /**< its bytes; NULL for real numbers or a callable that writes them */
};

/** Are these real numbers, for a tensor that holds quantised ones? The typecode decides. */
static bool is_real(const struct ethosu_model_buffer *tensor, int typecode)
{
    return (typecode == 'f' || typecode == 'd') && element_typecode(tensor->type) != typecode;
}

/** Bytes of a bytearray or array whose type and size fit; NULL: look closer. */
static MP_NOINLINE void *fitting_bytes(const struct ethosu_model_buffer *tensor, mp_obj_t given)
{
    // A build for size does without; a native module does not know the type.
    if (ETHOSU_FOR_SIZE || (!mp_obj_is_exact_type(given, &mp_type_bytearray) &&
                            !mp_obj_is_exact_type(given, &mp_type_array))) {
        return NULL;
    }
    const mp_obj_array_t *array = MP_OBJ_TO_PTR(given);
    size_t size = array->len;
    if (array->typecode != BYTEARRAY_TYPECODE) {
        size *= array->typecode == (size_t)element_typecode(tensor->type)
                    ? ethosu_model_type_size(tensor->type)
                    : 0;
    }
    return size == tensor->size ? array->items : NULL;
}

/** Check one input of any kind. */
static RARE void check_closely(struct exchange *input, size_t index)
{
    mp_buffer_info_t buffer;
    struct numbers numbers;
    const struct ethosu_model_buffer *tensor = input->tensor;
    if (element_buffer(input->given, &buffer) && !is_real(tensor, buffer.typecode)) {
        input->raw = tensor_bytes(tensor->type, tensor->size, &buffer, "input", (int)index);
        return;
    }
    if (!element_source(input->given, &numbers)) {
        if (mp_obj_is_callable(input->given)) {
            return;
        }
        mp_raise_msg_varg(&mp_type_TypeError,
                          MP_ERROR_TEXT("input %d is of type %s, expected a buffer, numbers or a "
                                        "callable"),
                          (int)index, mp_obj_get_type_str(input->given));
    }
    // Real numbers: their count is checked before any input is written.
    const size_t expected = tensor_count(tensor->type, tensor->size);
    if (numbers.count != expected) {
        mp_raise_msg_varg(&mp_type_ValueError, MP_ERROR_TEXT("input %d has %d values, expected %d"),
                          (int)index, (int)numbers.count, (int)expected);
    }
}

/** Before a copy. Most objects are on Python's heap: no need to search the board's table. */
static void check_memory(const void *bytes, size_t size, const char *what)
{
#ifndef MICROPY_ENABLE_DYNRUNTIME // a native module does not know the heap
    const mp_state_mem_area_t *heap = &MP_STATE_MEM(area);
    const size_t room = (size_t)(heap->gc_pool_end - heap->gc_pool_start);
    const uintptr_t offset = (uintptr_t)bytes - (uintptr_t)heap->gc_pool_start;
    if (size <= room && offset <= room - size) {
        return;
    }
#endif
    binding_check_memory(bytes, size, what);
}

/** Check one input and get its bytes; raises if it does not fit the tensor. */
static void check_input(struct exchange *input, size_t index)
{
    input->raw = fitting_bytes(input->tensor, input->given);
    if (input->raw == NULL) { // not the usual case
        check_closely(input, index);
    } else if (input->raw != input->tensor->data) {
        check_memory(input->raw, input->tensor->size, "input");
    }
}

static void write_input(const struct ethosu_model *model, void *owner, const struct exchange *input)
{
    void *memory = input->tensor->data;
    if (input->raw == memory) {
        return; // in place already
    }
    if (input->raw != NULL) {
        arm_ethos_io_memcpy(memory, input->raw, input->tensor->size);
    } else if (mp_obj_is_callable(input->given)) {
        exchange_call(owner, input->given, input->tensor);
    } else {
        tensor_fill_raw(model, input->tensor->tensor, input->given, memory, "input");
    }
}

void exchange_write_inputs(const struct ethosu_model *model, void *owner, mp_obj_t given)
{
    const size_t count = ethosu_model_input_count(model);
    const struct ethosu_model_buffer *tensors = ethosu_model_inputs(model);
    mp_obj_t *items = get_sequence(given, count, "input");
    // Several are all checked before any is written.
    for (size_t pass = count == 1; pass < 2; pass++) {
        for (size_t i = 0; i < count; i++) {
            struct exchange input = {.tensor = &tensors[i], .given = items[i]};
            check_input(&input, i);
            if (pass == 1) {
                write_input(model, owner, &input);
                // A callable may have changed the list.
                items = i + 1 < count ? get_sequence(given, count, "input") : NULL;
            }
        }
    }
}

/** Bytes of a buffer of any kind for an output. Raises. */
static RARE void *output_closely(const struct ethosu_model_buffer *tensor, mp_obj_t given,
                                 size_t index)
{
    mp_buffer_info_t buffer;
    binding_get_buffer(given, &buffer, MP_BUFFER_WRITE, "output");
    return tensor_bytes(tensor->type, tensor->size, &buffer, "output", (int)index);
}

void exchange_visit_outputs(const struct ethosu_model *model, mp_obj_t given, bool copy)
{
    size_t count = ethosu_model_output_count(model);
    const struct ethosu_model_buffer *outputs = ethosu_model_outputs(model);
    mp_obj_t *items = get_sequence(given, count, "output");
    for (size_t i = 0; i < count; i++) {
        void *bytes = fitting_bytes(&outputs[i], items[i]);
        if (bytes == NULL) { // not the usual case
            bytes = output_closely(&outputs[i], items[i], i);
        } else if (bytes != outputs[i].data) {
            check_memory(bytes, outputs[i].size, "output");
        }
        if (copy && bytes != outputs[i].data) {
            arm_ethos_io_memcpy(bytes, outputs[i].data, outputs[i].size);
        }
    }
}

mp_obj_t exchange_new_outputs(const struct ethosu_model *model, bool real)
{
    const size_t count = ethosu_model_output_count(model);
    const struct ethosu_model_buffer *outputs = ethosu_model_outputs(model);
    // Not by mp_obj_new_list(), which makes room for four outputs and clears it.
    mp_obj_list_t *list = m_new_obj(mp_obj_list_t);
    list->base.type = &mp_type_list;
    list->alloc = count + 1; // append() needs one
    list->len = count;
    list->items = m_new(mp_obj_t, list->alloc);
    for (size_t i = 0; i < count; i++) {
        const struct ethosu_model_buffer *output = &outputs[i];
        list->items[i] =
            MP_OBJ_FROM_PTR(real ? tensor_new_floats(tensor_count(output->type, output->size))
                                 : tensor_new_array(output->type, output->size));
    }
    return MP_OBJ_FROM_PTR(list);
}

void exchange_fill_outputs(const struct ethosu_model *model, mp_obj_t list_in, bool real)
{
    const mp_obj_list_t *list = MP_OBJ_TO_PTR(list_in);
    const struct ethosu_model_buffer *outputs = ethosu_model_outputs(model);
    for (size_t i = 0; i < list->len; i++) {
        const mp_obj_array_t *array = MP_OBJ_TO_PTR(list->items[i]);
        if (real) {
            tensor_fill_real(model, outputs[i].tensor, outputs[i].data, array->items);
        } else {
            arm_ethos_io_memcpy(array->items, outputs[i].data, outputs[i].size);
        }
    }
}
