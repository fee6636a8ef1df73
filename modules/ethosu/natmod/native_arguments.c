// SPDX-License-Identifier: MIT
/** Exceptions and arguments of the native module's functions. */
#include "native_arguments.h"

#include <string.h>

#include "driver/base/ethosu_text.h"
#include "hooks.h"

struct ethosu_driver natmod_npus[NATMOD_NPUS];
uint8_t natmod_ready[NATMOD_NPUS];
const mp_obj_type_t *natmod_array_type;

void *native_malloc(size_t size)
{
    return m_malloc_dyn(size);
}

void native_get_array(mp_obj_t object, size_t *count, mp_obj_t **items)
{
    mp_obj_get_array_dyn(object, count, items);
}

/* ---- exceptions ---- */

mp_obj_t native_new_text(const char *string)
{
    return mp_obj_new_str(string, strlen(string));
}

static mp_obj_t new_message(const char *format, va_list *arguments)
{
    struct ethosu_model_error error; // the longest messages are the runtime's
    struct ethosu_text text = {error.text, sizeof error.text, 0};
    ethosu_ext_text_vprint(&text, format, arguments);
    (void)ethosu_ext_text_end(&text);
    return native_new_text(error.text);
}

_Noreturn void native_raise(const mp_obj_type_t *type, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    mp_obj_t message = new_message(format, &arguments);
    va_end(arguments);
    nlr_raise(mp_call_function_n_kw(MP_OBJ_FROM_PTR(type), 1, 0, &message));
}

_Noreturn void binding_raise_os_error(int number, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    mp_obj_t values[] = {MP_OBJ_NEW_SMALL_INT(number), new_message(format, &arguments)};
    va_end(arguments);
    nlr_raise(mp_call_function_n_kw(mp_load_global(MP_QSTR_OSError), 2, 0, values));
}

void native_check_model(int status, const struct ethosu_model_error *error)
{
    if (status == ETHOSU_MODEL_BAD_MEMORY) {
        binding_raise_os_error(ETHOSU_EXT_EFAULT, "%s", error->text);
    } else if (status != ETHOSU_MODEL_OK) {
        mp_raise_ValueError(error->text);
    }
}

/* ---- arguments ---- */

struct ethosu_driver *native_npu_of(mp_obj_t index_in)
{
    mp_int_t index = mp_obj_get_int(index_in);
    if (index < 0 || index >= NATMOD_NPUS || !natmod_ready[index]) {
        binding_raise_os_error(
            ETHOSU_EXT_ENODEV,
            "no such NPU: call ethosu.init(board=NAME) or ethosu.init(ADDRESS) first");
    }
    return &natmod_npus[index];
}

const mp_obj_type_t *native_type(qstr name)
{
    return MP_OBJ_TO_PTR(mp_load_global(name));
}

const char *native_type_name(mp_obj_t object)
{
    mp_obj_t type = MP_OBJ_FROM_PTR(mp_obj_get_type(object));
    return mp_obj_str_get_str(mp_load_attr(type, MP_QSTR___name__));
}

bool native_is_callable(mp_obj_t object)
{
    return mp_obj_is_true(mp_call_function_n_kw(mp_load_global(MP_QSTR_callable), 1, 0, &object));
}

mp_buffer_info_t native_buffer_of(mp_obj_t object, unsigned flags, const char *what)
{
    mp_buffer_info_t buffer;
    binding_get_memory(object, &buffer, flags, what);
    return buffer;
}

void *native_aligned(const mp_buffer_info_t *buffer)
{
    return (void *)(((uintptr_t)buffer->buf + NATIVE_ALIGNMENT - 1) &
                    ~(uintptr_t)(NATIVE_ALIGNMENT - 1));
}

struct native_model *native_header_of(mp_obj_t object)
{
    mp_buffer_info_t buffer = native_buffer_of(object, MP_BUFFER_READ, "model");
    return native_aligned(&buffer);
}

bool native_is_unmoved(mp_obj_t object, const mp_buffer_info_t *then)
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
        mp_raise_ValueError("this model was closed by deinit()");
    }
    const struct native_model *header = native_header_of(items[0]);
    if (!native_is_unmoved(items[1], &header->arena)) {
        mp_raise_ValueError("arena was resized after the model was loaded into it");
    }
    if (!native_is_unmoved(items[2], &header->file)) {
        mp_raise_ValueError("the model's buffer was resized after it was loaded");
    }
    return header->model;
}
