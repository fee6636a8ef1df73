// SPDX-License-Identifier: MIT
/** Attributes of `ethosu.Model` that tell about its tensors, in the form of OpenMV's `ml.Model`. */
#include "model_object.h"

#include "py/objarray.h"
#include "py/objtuple.h"
#include "py/runtime.h"

char model_typecode(uint32_t type)
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

static void get_tensor(const model_obj_t *self, const struct ethosu_model_buffer *buffer,
                       struct ethosu_model_tensor *tensor)
{
    // The file is the user's memory: he may have written over it since it was loaded.
    if (!ethosu_model_get_tensor(self->model, buffer->tensor, tensor)) {
        mp_raise_ValueError(MP_ERROR_TEXT("the model's file was changed after it was loaded"));
    }
}

mp_obj_t model_view(const model_obj_t *self, const struct ethosu_model_buffer *buffer)
{
    size_t width = MAX(ethosu_model_type_size(buffer->type), 1);
    // The collector knows the start of a block only, so the view begins there.
    size_t offset = (size_t)((uint8_t *)buffer->data - (uint8_t *)self->arena_block) / width;
    mp_obj_array_t *view = m_new_obj(mp_obj_array_t);
    mp_obj_memoryview_init(view,
                           (size_t)model_typecode(buffer->type) | MP_OBJ_ARRAY_TYPECODE_FLAG_RW,
                           offset, buffer->size / width, self->arena_block);
    return MP_OBJ_FROM_PTR(view);
}

static mp_obj_t describe_shape(const model_obj_t *self, const struct ethosu_model_buffer *buffer)
{
    struct ethosu_model_tensor tensor;
    mp_obj_t dimensions[ETHOSU_MODEL_MAX_RANK];
    get_tensor(self, buffer, &tensor);
    for (uint32_t i = 0; i < tensor.rank; ++i) {
        dimensions[i] = mp_obj_new_int(tensor.shape[i]);
    }
    return mp_obj_new_tuple(tensor.rank, dimensions);
}

static mp_obj_t describe_dtype(const model_obj_t *self, const struct ethosu_model_buffer *buffer)
{
    (void)self;
    char code = model_typecode(buffer->type);
    return mp_obj_new_str(&code, 1);
}

static mp_obj_t describe_scale(const model_obj_t *self, const struct ethosu_model_buffer *buffer)
{
    struct ethosu_model_tensor tensor;
    get_tensor(self, buffer, &tensor);
    return mp_obj_new_float_from_f(tensor.scale);
}

static mp_obj_t describe_zero_point(const model_obj_t *self,
                                    const struct ethosu_model_buffer *buffer)
{
    struct ethosu_model_tensor tensor;
    get_tensor(self, buffer, &tensor);
    return mp_obj_new_int(tensor.zero_point);
}

mp_obj_t model_describe_tensor(const model_obj_t *self, const struct ethosu_model_buffer *buffer)
{
    static const qstr fields[] = {
        MP_QSTR_name, MP_QSTR_shape, MP_QSTR_dtype, MP_QSTR_scale, MP_QSTR_zero_point, MP_QSTR_data,
    };
    struct ethosu_model_tensor tensor;
    get_tensor(self, buffer, &tensor);
    mp_obj_t values[] = {
        mp_obj_new_str(tensor.name, tensor.name_length),
        describe_shape(self, buffer),
        describe_dtype(self, buffer),
        describe_scale(self, buffer),
        describe_zero_point(self, buffer),
        model_view(self, buffer),
    };
    return mp_obj_new_attrtuple(fields, MP_ARRAY_SIZE(fields), values);
}

mp_obj_t model_describe_all(const model_obj_t *self, bool outputs,
                            mp_obj_t (*describe)(const model_obj_t *self,
                                                 const struct ethosu_model_buffer *buffer))
{
    const struct ethosu_model *model = self->model;
    const struct ethosu_model_buffer *buffers =
        outputs ? ethosu_model_outputs(model) : ethosu_model_inputs(model);
    size_t count = outputs ? ethosu_model_output_count(model) : ethosu_model_input_count(model);
    mp_obj_tuple_t *tuple = MP_OBJ_TO_PTR(mp_obj_new_tuple(count, NULL));
    for (size_t i = 0; i < count; ++i) {
        tuple->items[i] = describe(self, &buffers[i]);
    }
    return MP_OBJ_FROM_PTR(tuple);
}

bool model_load_description(const model_obj_t *self, qstr name, mp_obj_t *value)
{
    static const struct {
        uint16_t input;
        uint16_t output;
        mp_obj_t (*describe)(const model_obj_t *self, const struct ethosu_model_buffer *buffer);
    } table[] = {
        {MP_QSTR_inputs, MP_QSTR_outputs, model_describe_tensor},
        {MP_QSTR_input_shape, MP_QSTR_output_shape, describe_shape},
        {MP_QSTR_input_dtype, MP_QSTR_output_dtype, describe_dtype},
        {MP_QSTR_input_scale, MP_QSTR_output_scale, describe_scale},
        {MP_QSTR_input_zero_point, MP_QSTR_output_zero_point, describe_zero_point},
    };
    for (size_t i = 0; i < MP_ARRAY_SIZE(table); ++i) {
        if (name == table[i].input || name == table[i].output) {
            *value = model_describe_all(self, name == table[i].output, table[i].describe);
            return true;
        }
    }
    return false;
}
