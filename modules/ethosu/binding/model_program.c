// SPDX-License-Identifier: MIT
/** What `ethosu.Model` tells of an ExecuTorch program; see model_program.h. */
#include "model_program.h"

#include "py/objtuple.h"
#include "py/runtime.h"
#include "tensor_object.h"

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

/* ---- methods ---- */

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

/** What a constant method returns: a value, or a tuple of several. */
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

/** constants: a dict of what constant methods return, by name. */
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

/** methods: a tuple of the names of all that are not constant. */
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

bool model_load_program(model_obj_t *self, qstr name, mp_obj_t *value)
{
    if (name == MP_QSTR_methods) {
        *value = load_methods(self);
    } else if (name == MP_QSTR__file) {
        *value =
            tensor_view(self, ethosu_model_file(self->model), self->file_size, ETHOSU_TYPE_UINT8);
    } else if (name == MP_QSTR_constants) {
        *value = load_constants(self);
    } else {
        return false;
    }
    return true;
}

/* ---- info() ---- */

/** The operators that the CPU computes: how often each is called. */
static mp_obj_t cpu_operators(const model_obj_t *self, uint32_t instructions)
{
    mp_obj_t dict = mp_obj_new_dict(0);
    for (uint32_t i = 0; i < instructions; i++) {
        uint32_t length;
        const char *name = ethosu_model_get_operator(self->model, i, &length);
        if (name != NULL) {
            mp_obj_t key = new_text(name, length);
            mp_map_elem_t *found =
                mp_map_lookup(mp_obj_dict_get_map(dict), key, MP_MAP_LOOKUP_ADD_IF_NOT_FOUND);
            mp_int_t count = found->value == MP_OBJ_NULL ? 0 : MP_OBJ_SMALL_INT_VALUE(found->value);
            found->value = MP_OBJ_NEW_SMALL_INT(count + 1);
        }
    }
    return dict;
}

/** What makes a program slow, as sentences that say what helps. */
static mp_obj_t notes_of(const struct ethosu_model_program *program)
{
    mp_obj_t list = mp_obj_new_list(0, NULL);
    if (program->nchw) {
        static const char text[] = "inputs are NCHW, so the NPU has to transpose them: export with "
                                   "torch.channels_last";
        mp_obj_list_append(list, new_text(text, sizeof text - 1));
    }
    if (program->quantized != 0) {
        static const char text[] = "the CPU quantises and dequantises in each run: export with "
                                   "integer ends (QuantizeInputs, QuantizeOutputs)";
        mp_obj_list_append(list, new_text(text, sizeof text - 1));
    }
    return tuple_of(list);
}

void model_add_program(const model_obj_t *self, mp_obj_t dict)
{
    struct ethosu_model_program program;
    if (!ethosu_model_get_program(self->model, &program)) {
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
        {MP_QSTR_cpu_operators, cpu_operators(self, program.instructions)},
        {MP_QSTR_notes, notes_of(&program)},
    };
    for (size_t i = 0; i < MP_ARRAY_SIZE(facts); i++) {
        mp_obj_dict_store(dict, MP_OBJ_NEW_QSTR(facts[i].key), facts[i].value);
    }
}
