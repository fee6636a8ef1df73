// SPDX-License-Identifier: MIT
/** Attributes of `ethosu.Model` that describe its tensors and its program; see model_object.h. */
#include "binding/model/model_object.h"

#include "binding/call/raise.h"
#include "binding/tensor/info.h"
#include "binding/tensor/tensor_fill.h"
#include "ethosu_describe.h"
#include "py/objtuple.h"
#include "py/runtime.h"

/* ---- tensors, with the names of OpenMV's `ml.Model` ---- */

/** Value of an attribute for one input (or output). */
typedef mp_obj_t describe_t(const struct ethosu_model_tensor *tensor);

static mp_obj_t describe_dtype(const struct ethosu_model_tensor *tensor)
{
    return tensor_dtype(tensor->type);
}

static mp_obj_t describe_scale(const struct ethosu_model_tensor *tensor)
{
    return mp_obj_new_float_from_f(tensor->scale);
}

static mp_obj_t describe_zero_point(const struct ethosu_model_tensor *tensor)
{
    return mp_obj_new_int(tensor->zero_point);
}

/** Tuple with an entry for each input (or output). */
static mp_obj_t describe_all(model_obj_t *self, bool outputs, describe_t *describe)
{
    const struct ethosu_model *model = self->model;
    const struct ethosu_model_buffer *buffers =
        outputs ? ethosu_model_outputs(model) : ethosu_model_inputs(model);
    size_t count = outputs ? ethosu_model_output_count(model) : ethosu_model_input_count(model);
    mp_obj_tuple_t *tuple = MP_OBJ_TO_PTR(mp_obj_new_tuple(count, NULL));
    for (size_t i = 0; i < count; i++) {
        if (describe == NULL) {
            tuple->items[i] = tensor_new(MP_OBJ_FROM_PTR(self), buffers[i].tensor);
        } else {
            struct ethosu_model_tensor tensor;
            tensor_get(self->model, buffers[i].tensor, &tensor);
            tuple->items[i] = describe(&tensor);
        }
    }
    return MP_OBJ_FROM_PTR(tuple);
}

/** The tuple `inputs` (or `outputs`), made once. */
static mp_obj_t io_tensors(model_obj_t *self, bool outputs)
{
    if (self->tensors[outputs] == MP_OBJ_NULL) {
        self->tensors[outputs] = describe_all(self, outputs, NULL);
    }
    return self->tensors[outputs];
}

/** All tensors of the main graph. A program has other values between them, which are left out. */
static mp_obj_t all_tensors(model_obj_t *self)
{
    struct ethosu_model_info info;
    struct ethosu_model_tensor tensor;
    ethosu_model_get_info(self->model, &info);
    mp_obj_tuple_t *tuple = MP_OBJ_TO_PTR(mp_obj_new_tuple(info.tensors, NULL));
    size_t count = 0;
    for (uint32_t i = 0; i < info.values && count < info.tensors; i++) {
        if (info.values == info.tensors || ethosu_model_get_tensor(self->model, i, &tensor)) {
            tuple->items[count++] = tensor_new(MP_OBJ_FROM_PTR(self), i);
        }
    }
    tuple->len = count; // an unused tensor may be one that can't be described
    return MP_OBJ_FROM_PTR(tuple);
}

/* ---- methods of an ExecuTorch program ---- */

static mp_obj_t new_text(const void *data, size_t size)
{
    return mp_obj_new_str(data, size);
}

static mp_obj_t tuple_of(mp_obj_t list)
{
    size_t count;
    mp_obj_t *items;
    mp_obj_list_get(list, &count, &items);
    return mp_obj_new_tuple(count, items);
}

/** A value of a constant method. Raises. */
static mp_obj_t constant_value(const model_obj_t *self, uint32_t method, uint32_t index)
{
    struct ethosu_model_constant constant;
    if (!ethosu_model_get_constant(self->model, method, index, &constant)) {
        mp_raise_msg_varg(&mp_type_ValueError,
                          MP_ERROR_TEXT("method %d returns a value that can't be read"),
                          (int)method);
    }
    switch (constant.kind) {
    case ETHOSU_KIND_INT:
        return mp_obj_new_int_from_ll(constant.integer);
    case ETHOSU_KIND_BOOL:
        return mp_obj_new_bool(constant.integer != 0);
    case ETHOSU_KIND_DOUBLE:
        return mp_obj_new_float((mp_float_t)constant.real);
    case ETHOSU_KIND_TEXT:
        return new_text(constant.data, constant.size);
    case ETHOSU_KIND_TENSOR:
        return tensor_view(self, constant.data, constant.size, constant.type);
    default:
        return mp_const_none;
    }
}

/** Result of a constant method: a value, or a tuple of several. */
static mp_obj_t constant_values(const model_obj_t *self, uint32_t method, uint32_t count)
{
    if (count == 1) {
        return constant_value(self, method, 0);
    }
    mp_obj_t list = mp_obj_new_list(0, NULL);
    for (uint32_t i = 0; i < count; i++) {
        mp_obj_list_append(list, constant_value(self, method, i));
    }
    return tuple_of(list);
}

/** constants: a dict from the names of constant methods to their results. */
static mp_obj_t load_constants(const model_obj_t *self)
{
    struct ethosu_model_method method;
    mp_obj_t dict = mp_obj_new_dict(0);
    for (uint32_t i = 0; ethosu_model_get_method(self->model, i, &method); i++) {
        if (method.constants != 0) {
            mp_obj_dict_store(dict, new_text(method.name, method.name_length),
                              constant_values(self, i, method.constants));
        }
    }
    return dict;
}

/** methods, signatures: a tuple of the names of all that can be loaded. */
static mp_obj_t load_methods(const model_obj_t *self)
{
    struct ethosu_model_method method;
    mp_obj_t list = mp_obj_new_list(0, NULL);
    for (uint32_t i = 0; ethosu_model_get_method(self->model, i, &method); i++) {
        if (method.constants == 0) {
            mp_obj_list_append(list, new_text(method.name, method.name_length));
        }
    }
    return tuple_of(list);
}

/* ---- info() of an ExecuTorch program ---- */

/** Count a call of an operator that the CPU computes, in a dict, which a .tflite does not need. */
static void count_call(void *dict_in, const char *name, uint32_t length)
{
    mp_obj_t *dict = dict_in;
    *dict = *dict == MP_OBJ_NULL ? mp_obj_new_dict(0) : *dict;
    mp_map_elem_t *entry = mp_map_lookup(mp_obj_dict_get_map(*dict), new_text(name, length),
                                         MP_MAP_LOOKUP_ADD_IF_NOT_FOUND);
    mp_int_t count = entry->value == MP_OBJ_NULL ? 0 : MP_OBJ_SMALL_INT_VALUE(entry->value);
    entry->value = MP_OBJ_NEW_SMALL_INT(count + 1);
}

/** Is one of the inputs and outputs a float? */
static bool has_float_ends(const struct ethosu_model *model)
{
    const struct ethosu_model_buffer *ends = ethosu_model_inputs(model); // then the outputs
    const size_t count = ethosu_model_input_count(model) + ethosu_model_output_count(model);
    for (size_t i = 0; i < count; i++) {
        if (ends[i].type == ETHOSU_TYPE_FLOAT32) {
            return true;
        }
    }
    return false;
}

/** Why a program is slow, with advice. */
static mp_obj_t notes_of(const struct ethosu_model *model,
                         const struct ethosu_model_program *program)
{
    mp_obj_t list = mp_obj_new_list(0, NULL);
    if (program->nchw) {
        static const char text[] = "inputs are NCHW, so the NPU has to transpose them: export with "
                                   "torch.channels_last";
        mp_obj_list_append(list, new_text(text, sizeof text - 1));
    }
    if (program->quantized != 0 && has_float_ends(model)) {
        static const char text[] = "the CPU quantises and dequantises in each run: export with "
                                   "integer I/O (QuantizeInputs, QuantizeOutputs)";
        mp_obj_list_append(list, new_text(text, sizeof text - 1));
    }
    return tuple_of(list);
}

void model_add_program(const model_obj_t *self, mp_obj_t dict)
{
    struct ethosu_model_program program;
    mp_obj_t operators = MP_OBJ_NULL;
    if (!ethosu_model_get_program(self->model, &program, count_call, &operators)) {
        return;
    }
    struct ethosu_model_method method = {"", 0, 0};
    (void)ethosu_model_get_method(self->model, program.method, &method);
    const struct {
        qstr key;
        mp_obj_t value;
    } facts[] = {
        {MP_QSTR_method, new_text(method.name, method.name_length)},
        {MP_QSTR_planned_size, mp_obj_new_int_from_uint(program.planned_size)},
        {MP_QSTR_quantized_values, mp_obj_new_int_from_uint(program.quantized)},
        {MP_QSTR_nchw, mp_obj_new_bool(program.nchw)},
        {MP_QSTR_cpu_operators, operators == MP_OBJ_NULL ? mp_obj_new_dict(0) : operators},
        {MP_QSTR_notes, notes_of(self->model, &program)},
    };
    for (size_t i = 0; i < MP_ARRAY_SIZE(facts); i++) {
        mp_obj_dict_store(dict, MP_OBJ_NEW_QSTR(facts[i].key), facts[i].value);
    }
}

/* ---- for the frozen Python ---- */

/** Facts of TFLite metadata. */
static mp_obj_t load_facts(const model_obj_t *self)
{
    struct ethosu_model_error error;
    mp_obj_t list = mp_obj_new_list(0, NULL);
    int status = info_facts(self->model, list, &error);
    if (status != ETHOSU_MODEL_OK) {
        binding_raise_model(status, &error);
    }
    return list;
}

#if ETHOSU_PTE
/** Inputs (or expected outputs) of the current case: a list of (typecode, shape, order, bytes). */
static mp_obj_t case_values(struct ethosu_description *description, bool outputs, uint32_t count)
{
    mp_obj_t list = mp_obj_new_list(0, NULL);
    for (uint32_t i = 0; i < count; i++) {
        struct ethosu_describe_value value;
        struct ethosu_model_error error;
        int status = ethosu_describe_case_value(description, outputs, i, &value, &error);
        if (status != ETHOSU_MODEL_OK) {
            binding_raise_model(status, &error);
        }
        if (value.kind != ETHOSU_KIND_TENSOR && !outputs) {
            continue; // a number that the program fixes
        }
        if (value.kind != ETHOSU_KIND_TENSOR) {
            mp_raise_ValueError(MP_ERROR_TEXT("a case has a value that is not a tensor"));
        }
        mp_obj_t items[] = {
            tensor_dtype(value.tensor.type),
            info_shape(&value.tensor),
            info_order(&value.tensor),
            mp_obj_new_bytearray(value.data.size, value.data.data),
        };
        mp_obj_list_append(list, mp_obj_new_tuple(MP_ARRAY_SIZE(items), items));
    }
    return list;
}

/** _case(number): a bundle's test case as (method, inputs, outputs); None past the last one. */
static mp_obj_t model_case(mp_obj_t self_in, mp_obj_t number)
{
    const model_obj_t *self = model_open(self_in);
    struct ethosu_description *description = m_new_obj(struct ethosu_description);
    struct ethosu_describe_case bundled;
    struct ethosu_model_error error;
    uint32_t index = (uint32_t)mp_obj_get_int(number);
    int status =
        ethosu_describe_cases(ethosu_model_file(self->model), self->file_size, description, &error);
    if (status == ETHOSU_MODEL_OK && index >= description->cases) {
        return mp_const_none;
    }
    if (status == ETHOSU_MODEL_OK) {
        status = ethosu_describe_case(description, index, &bundled, &error);
    }
    if (status != ETHOSU_MODEL_OK) {
        binding_raise_model(status, &error);
    }
    mp_obj_t items[] = {
        new_text(bundled.method.data, bundled.method.size),
        case_values(description, false, bundled.inputs),
        case_values(description, true, bundled.outputs),
    };
    return mp_obj_new_tuple(MP_ARRAY_SIZE(items), items);
}
MP_DEFINE_CONST_FUN_OBJ_2(model_case_obj, model_case);
#endif

/* ---- attributes ---- */

mp_obj_t model_describe(model_obj_t *self, qstr name)
{
    static const struct {
        uint16_t input;
        uint16_t output;
        describe_t *describe;
    } table[] = {
        {MP_QSTR_input_shape, MP_QSTR_output_shape, info_shape},
        {MP_QSTR_input_dtype, MP_QSTR_output_dtype, describe_dtype},
        {MP_QSTR_input_scale, MP_QSTR_output_scale, describe_scale},
        {MP_QSTR_input_zero_point, MP_QSTR_output_zero_point, describe_zero_point},
    };
    for (size_t i = 0; i < MP_ARRAY_SIZE(table); i++) {
        if (name == table[i].input || name == table[i].output) {
            return describe_all(self, name == table[i].output, table[i].describe);
        }
    }
    switch (name) {
    case MP_QSTR_inputs:
    case MP_QSTR_outputs:
        return io_tensors(self, name == MP_QSTR_outputs);
    case MP_QSTR_tensors:
        return all_tensors(self);
    case MP_QSTR_methods:
    case MP_QSTR_signatures:
        return load_methods(self);
    case MP_QSTR_constants:
        return load_constants(self);
    case MP_QSTR__facts:
        return load_facts(self);
    case MP_QSTR__is_bundle:
        return mp_obj_new_bool(
            ethosu_file_kind_of(ethosu_model_file(self->model), self->file_size)->number ==
            ETHOSU_FILE_BUNDLE);
    default:
        return MP_OBJ_NULL;
    }
}
