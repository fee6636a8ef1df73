// SPDX-License-Identifier: MIT
/** Attributes of `ethosu.Model` that describe its tensors, as OpenMV's `ml.Model` names them. */
#include "model_describe.h"

#include "info.h"
#include "py/objtuple.h"
#include "py/runtime.h"
#include "tensor_object.h"

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
            tensor_get(self, buffers[i].tensor, &tensor);
            tuple->items[i] = describe(&tensor);
        }
    }
    return MP_OBJ_FROM_PTR(tuple);
}

/** The tuple `inputs` (or `outputs`), made once. */
static mp_obj_t end_tensors(model_obj_t *self, bool outputs)
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
    tuple->len = count; // tensors that nothing uses may be ones that can't be described
    return MP_OBJ_FROM_PTR(tuple);
}

bool model_load_description(model_obj_t *self, qstr name, mp_obj_t *value)
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
    if (name == MP_QSTR_inputs || name == MP_QSTR_outputs) {
        *value = end_tensors(self, name == MP_QSTR_outputs);
        return true;
    }
    if (name == MP_QSTR_tensors) {
        *value = all_tensors(self);
        return true;
    }
    for (size_t i = 0; i < MP_ARRAY_SIZE(table); i++) {
        if (name == table[i].input || name == table[i].output) {
            *value = describe_all(self, name == table[i].output, table[i].describe);
            return true;
        }
    }
    return false;
}
