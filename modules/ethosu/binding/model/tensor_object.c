// SPDX-License-Identifier: MIT
/** Python class `ethosu.Tensor`: a tensor's description, its memory, its real values. */
#include "binding/model/model_object.h"

#include <string.h>

#include "binding/call/methods.h"
#include "binding/call/raise.h"
#include "binding/memory/buffers.h"
#include "binding/model/exchange.h"
#include "binding/tensor/info.h"
#include "binding/tensor/tensor_fill.h"
#include "driver/base/ethosu_build.h"
#include "py/objarray.h"
#include "py/runtime.h"

typedef struct {
    mp_obj_base_t base;
    model_obj_t *model;
    uint32_t index;
    mp_obj_t data; /**< view of its memory; None for a handle of a variable */
} tensor_obj_t;

mp_obj_t tensor_dtype(uint32_t type)
{
    char code = element_typecode(type);
    return mp_obj_new_str_via_qstr(&code, 1);
}

mp_obj_t tensor_view(const model_obj_t *self, const void *data, uint32_t size, uint32_t type)
{
    size_t typecode = (size_t)element_typecode(type);
    size_t width = typecode == 'B' ? 1 : ethosu_model_type_size(type); // float16: bytes
    uintptr_t block = (uintptr_t)self->block[MODEL_ARENA];
    if ((uintptr_t)data - block < self->arena_span) {
        typecode |= MP_OBJ_ARRAY_TYPECODE_FLAG_RW;
    } else {
        block = (uintptr_t)self->block[MODEL_FILE];
    }
    if ((uintptr_t)data % width != 0) {
        typecode = (typecode & MP_OBJ_ARRAY_TYPECODE_FLAG_RW) | 'B';
        width = 1;
    }
    return binding_view(data, (const void *)block, typecode, size / width);
}

mp_obj_t tensor_new(mp_obj_t model, uint32_t index)
{
    tensor_obj_t *self = mp_obj_malloc(tensor_obj_t, &binding_tensor_type);
    self->model = MP_OBJ_TO_PTR(model);
    self->index = index;
    struct ethosu_model_tensor tensor;
    tensor_get(self->model->model, index, &tensor);
    self->data = tensor.data == NULL
                     ? mp_const_none
                     : tensor_view(self->model, tensor.data, tensor.size, tensor.type);
    return MP_OBJ_FROM_PTR(self);
}

RARE void exchange_call(void *owner, mp_obj_t callable, const struct ethosu_model_buffer *input)
{
    model_obj_t *self = owner;
    struct ethosu_model_tensor tensor;
    tensor_get(self->model, input->tensor, &tensor);
    mp_obj_t call_args[] = {
        tensor_view(self, input->data, input->size, tensor.type),
        info_shape(&tensor),
        tensor_dtype(tensor.type),
    };
    mp_call_function_n_kw(callable, MP_ARRAY_SIZE(call_args), 0, call_args);
    model_idle(MP_OBJ_FROM_PTR(self)); // it may have closed the model, or started it
}

/* ---- real values ---- */

/** Both arguments of quantize() or dequantize(), by position or name; None if omitted. */
static void get_arguments(size_t n_args, const mp_obj_t *args, mp_map_t *kw_args, qstr first,
                          mp_arg_val_t values[2])
{
    const mp_arg_t allowed_args[] = {
        {(uint16_t)first, MP_ARG_OBJ, {.u_rom_obj = MP_ROM_NONE}},
        {MP_QSTR_into, MP_ARG_OBJ, {.u_rom_obj = MP_ROM_NONE}},
    };
    mp_arg_parse_all(n_args - 1, args + 1, kw_args, MP_ARRAY_SIZE(allowed_args), allowed_args,
                     values);
}

/**
 * quantize(numbers, into=None): write real numbers as the tensor's raw values
 * to its memory or to the buffer `into`, rounded to nearest and saturated.
 */
static mp_obj_t tensor_quantize_method(size_t n_args, const mp_obj_t *args, mp_map_t *kw_args)
{
    tensor_obj_t *self = MP_OBJ_TO_PTR(args[0]);
    mp_arg_val_t given[2];
    get_arguments(n_args, args, kw_args, MP_QSTR_numbers, given);
    mp_obj_t into = given[1].u_obj;
    if (into == mp_const_none) {
        model_obj_t *model = model_idle(MP_OBJ_FROM_PTR(self->model));
        tensor_fill_raw_into(model->model, self->index, given[0].u_obj, self->data, "tensor");
    } else {
        model_obj_t *model = model_open(MP_OBJ_FROM_PTR(self->model));
        tensor_fill_raw_into(model->model, self->index, given[0].u_obj, into, "into");
    }
    return into;
}
static BINDING_METHOD(tensor_quantize_obj, tensor_quantize_method, "quantize(numbers, into=None)");

/**
 * dequantize(raw=None, into=None): the real values of the tensor's memory or of
 * `raw`, in a new array('f') or in the float buffer `into`.
 */
static mp_obj_t tensor_dequantize_method(size_t n_args, const mp_obj_t *args, mp_map_t *kw_args)
{
    tensor_obj_t *self = MP_OBJ_TO_PTR(args[0]);
    mp_arg_val_t given[2];
    get_arguments(n_args, args, kw_args, MP_QSTR_raw, given);
    model_open(MP_OBJ_FROM_PTR(self->model));
    mp_obj_t raw = given[0].u_obj == mp_const_none ? self->data : given[0].u_obj;
    return tensor_real_into(self->model->model, self->index, raw, given[1].u_obj);
}
static BINDING_METHOD(tensor_dequantize_obj, tensor_dequantize_method,
                      "dequantize(raw=None, into=None)");

/* ---- the class ---- */

static void tensor_attribute(mp_obj_t self_in, qstr name, mp_obj_t *destination)
{
    tensor_obj_t *self = MP_OBJ_TO_PTR(self_in);
    if (destination[0] != MP_OBJ_NULL) {
        return; // read-only
    }
    if (name == MP_QSTR_data) {
        destination[0] = self->data;
        return;
    }
    if (name == MP_QSTR_quantize || name == MP_QSTR_dequantize) {
        destination[1] = MP_OBJ_SENTINEL;
        return;
    }
    struct ethosu_model_tensor tensor;
    tensor_get(model_open(MP_OBJ_FROM_PTR(self->model))->model, self->index, &tensor);
    switch (name) {
    case MP_QSTR_name:
        destination[0] = mp_obj_new_str(tensor.name, tensor.name_length);
        break;
    case MP_QSTR_shape:
        destination[0] = info_shape(&tensor);
        break;
    case MP_QSTR_order:
        destination[0] = info_order(&tensor);
        break;
    case MP_QSTR_dtype:
        destination[0] = tensor_dtype(tensor.type);
        break;
    case MP_QSTR_scale:
    case MP_QSTR_zero_point:
        destination[0] =
            info_channels(self->model->model, self->index, &tensor, name == MP_QSTR_scale);
        break;
    case MP_QSTR_axis:
        destination[0] = info_axis(&tensor);
        break;
    case MP_QSTR_index:
        destination[0] = mp_obj_new_int_from_uint(self->index);
        break;
    default:
        break;
    }
}

static void tensor_print(const mp_print_t *print, mp_obj_t self_in, mp_print_kind_t kind)
{
    (void)kind;
    tensor_obj_t *self = MP_OBJ_TO_PTR(self_in);
    struct ethosu_model_tensor tensor;
    if (self->model->model == NULL) {
        mp_printf(print, "<Tensor of a closed model>");
        return;
    }
    tensor_get(self->model->model, self->index, &tensor);
    mp_printf(print, "<Tensor %d: %s ", (int)self->index, ethosu_model_type_name(tensor.type));
    mp_obj_print_helper(print, info_shape(&tensor), PRINT_REPR);
    mp_printf(print, " %.*s>", (int)tensor.name_length, tensor.name);
}

static const mp_rom_map_elem_t tensor_locals_table[] = {
    {MP_ROM_QSTR(MP_QSTR_quantize), MP_ROM_PTR(&tensor_quantize_obj)},
    {MP_ROM_QSTR(MP_QSTR_dequantize), MP_ROM_PTR(&tensor_dequantize_obj)},
};
static MP_DEFINE_CONST_DICT(tensor_locals, tensor_locals_table);

// clang-format off
MP_DEFINE_CONST_OBJ_TYPE(
    binding_tensor_type, MP_QSTR_Tensor, MP_TYPE_FLAG_NONE,
    print, tensor_print,
    attr, tensor_attribute,
    locals_dict, &tensor_locals
);
// clang-format on
