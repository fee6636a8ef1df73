// SPDX-License-Identifier: MIT
/** Exceptions and arguments of the native module's functions. */
#include "native_arguments.h"

#include <string.h>

#include "error.h"
#include "port.h"

struct ethosu_driver natmod_npus[PORT_NPUS];
uint8_t natmod_ready[PORT_NPUS];

/* ---- exceptions ---- */

mp_obj_t native_new_text(const char *string)
{
    return mp_obj_new_str(string, strlen(string));
}

static void raise(qstr type, size_t n_args, const mp_obj_t *args)
{
    nlr_raise(mp_call_function_n_kw(mp_load_global(type), n_args, 0, args));
}

void native_raise_os_error(int number, const char *string)
{
    mp_obj_t arguments[] = {MP_OBJ_NEW_SMALL_INT(number), native_new_text(string)};
    raise(MP_QSTR_OSError, 2, arguments);
}

void native_raise_value_error(const char *string)
{
    mp_obj_t argument = native_new_text(string);
    raise(MP_QSTR_ValueError, 1, &argument);
}

void native_raise_type_error(const char *string)
{
    mp_obj_t argument = native_new_text(string);
    raise(MP_QSTR_TypeError, 1, &argument);
}

void native_raise_size(const char *what, const char *unit, size_t found, size_t expected)
{
    struct ethosu_model_error error;
    error_set(&error, 0, "%s has %u %s, %u expected", what, (unsigned)found, unit,
              (unsigned)expected);
    native_raise_value_error(error.text);
}

/** A wrong argument is a ValueError, as in the built-in module. */
void native_raise_fault(const struct ethosu_ext_fault *fault)
{
    char sentence[160];
    int number = ethosu_ext_errno(fault->code);
    ethosu_ext_describe(fault, sentence, sizeof sentence);
    if (number == ETHOSU_EXT_EINVAL && fault->code != ETHOSU_EXT_E_NOT_STARTED) {
        native_raise_value_error(sentence);
    }
    native_raise_os_error(number, sentence);
}

void native_check_model(int status, const struct ethosu_model_error *error)
{
    if (status == ETHOSU_MODEL_BAD_MEMORY) {
        native_raise_os_error(ETHOSU_EXT_EFAULT, error->text);
    } else if (status != ETHOSU_MODEL_OK) {
        native_raise_value_error(error->text);
    }
}

/* ---- arguments ---- */

struct ethosu_driver *native_npu_of(mp_obj_t index_in)
{
    mp_int_t index = mp_obj_get_int(index_in);
    if (index < 0 || index >= PORT_NPUS || !natmod_ready[index]) {
        native_raise_os_error(ETHOSU_EXT_ENODEV,
                              "there is no such NPU: call ethosu.init(address) first");
    }
    return &natmod_npus[index];
}

mp_buffer_info_t native_buffer_of(mp_obj_t object, unsigned flags, const char *what)
{
    mp_buffer_info_t buffer;
    if (!mp_get_buffer(object, &buffer, flags)) {
        mp_obj_t type = MP_OBJ_FROM_PTR(mp_obj_get_type(object));
        struct ethosu_model_error error;
        error_set(&error, 0, "%s is of type %s, %s expected", what,
                  (const char *)mp_obj_str_get_str(mp_load_attr(type, MP_QSTR___name__)),
                  flags & MP_BUFFER_WRITE ? "a writable buffer" : "a buffer");
        native_raise_type_error(error.text);
    }
    return buffer;
}

void *native_aligned(const mp_buffer_info_t *buffer)
{
    return (void *)(((uintptr_t)buffer->buf + NATIVE_ALIGNMENT - 1) &
                    ~(uintptr_t)(NATIVE_ALIGNMENT - 1));
}

struct native_model *native_record_of(mp_obj_t object)
{
    mp_buffer_info_t buffer = native_buffer_of(object, MP_BUFFER_READ, "model");
    return native_aligned(&buffer);
}

bool native_is_there(mp_obj_t object, const mp_buffer_info_t *then)
{
    mp_buffer_info_t now;
    return mp_get_buffer(object, &now, MP_BUFFER_READ) && now.buf == then->buf &&
           now.len >= then->len;
}

struct ethosu_model *native_model_of(mp_obj_t memory)
{
    size_t count;
    mp_obj_t *items;
    mp_obj_get_array(memory, &count, &items);
    if (count == 0) {
        native_raise_value_error("this model was closed by deinit()");
    }
    const struct native_model *record = native_record_of(items[0]);
    if (!native_is_there(items[1], &record->arena)) {
        native_raise_value_error("arena was resized after the model was loaded into it");
    }
    if (!native_is_there(items[2], &record->file)) {
        native_raise_value_error("the model's buffer was resized after it was loaded");
    }
    return record->model;
}
