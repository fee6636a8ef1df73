// SPDX-License-Identifier: MIT
/**
 * Python module `browser`: input from the page to this board, and output shown by the page.
 *
 *     microphone.readinto(buffer)  16-bit samples at 16 kHz; 0 if none are available
 *     camera.readinto(buffer)      a new picture, RGB888, WIDTH x HEIGHT; 0 if none is available
 *     show(text)                   JSON for the page
 */
#include "host.h"
#include "py/obj.h"
#include "py/runtime.h"

typedef struct {
    mp_obj_base_t base;
    uint32_t source;
} source_obj_t;

static mp_obj_t source_readinto(mp_obj_t self_in, mp_obj_t buffer)
{
    const source_obj_t *self = MP_OBJ_TO_PTR(self_in);
    mp_buffer_info_t into;
    mp_get_buffer_raise(buffer, &into, MP_BUFFER_WRITE);
    return mp_obj_new_int_from_uint(host_feed(self->source, into.buf, into.len));
}
static MP_DEFINE_CONST_FUN_OBJ_2(source_readinto_obj, source_readinto);

static const mp_rom_map_elem_t source_locals_table[] = {
    {MP_ROM_QSTR(MP_QSTR_readinto), MP_ROM_PTR(&source_readinto_obj)},
};
static MP_DEFINE_CONST_DICT(source_locals, source_locals_table);

static MP_DEFINE_CONST_OBJ_TYPE(source_type, MP_QSTR_Source, MP_TYPE_FLAG_NONE, locals_dict,
                                &source_locals);

static const source_obj_t microphone = {{&source_type}, HOST_MICROPHONE};
static const source_obj_t camera = {{&source_type}, HOST_CAMERA};

static mp_obj_t browser_show(mp_obj_t text)
{
    size_t size;
    const char *bytes = mp_obj_str_get_data(text, &size);
    host_show(bytes, size);
    return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_1(browser_show_obj, browser_show);

static const mp_rom_map_elem_t browser_globals_table[] = {
    {MP_ROM_QSTR(MP_QSTR___name__), MP_ROM_QSTR(MP_QSTR_browser)},
    {MP_ROM_QSTR(MP_QSTR_microphone), MP_ROM_PTR(&microphone)},
    {MP_ROM_QSTR(MP_QSTR_camera), MP_ROM_PTR(&camera)},
    {MP_ROM_QSTR(MP_QSTR_WIDTH), MP_ROM_INT(HOST_PICTURE_WIDTH)},
    {MP_ROM_QSTR(MP_QSTR_HEIGHT), MP_ROM_INT(HOST_PICTURE_HEIGHT)},
    {MP_ROM_QSTR(MP_QSTR_show), MP_ROM_PTR(&browser_show_obj)},
};
static MP_DEFINE_CONST_DICT(browser_globals, browser_globals_table);

const mp_obj_module_t browser_module = {
    .base = {&mp_type_module},
    .globals = (mp_obj_dict_t *)&browser_globals,
};
MP_REGISTER_MODULE(MP_QSTR_browser, browser_module);
