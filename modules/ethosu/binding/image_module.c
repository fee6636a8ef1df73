// SPDX-License-Identifier: MIT
/** Python module `ethosu_image`: pictures into tensors, and what to look for in outputs. */
#include "doc.h"
#include "image.h"
#include "image_input.h"
#include "numbers.h"
#include "py/runtime.h"

/** Numbers of a buffer or list; raises. */
static struct numbers get_values(mp_obj_t given)
{
    struct numbers numbers;
    if (!numbers_of(given, &numbers)) {
        mp_raise_msg_varg(
            &mp_type_TypeError,
            MP_ERROR_TEXT("values is of type %s, a buffer or list of numbers expected"),
            mp_obj_get_type_str(given));
    }
    return numbers;
}

/** argmax(values): index of the largest number, the first of equal ones. */
static mp_obj_t image_argmax(mp_obj_t given)
{
    struct numbers numbers = get_values(given);
    if (numbers.count == 0) {
        mp_raise_ValueError(MP_ERROR_TEXT("values is empty, one number or more expected"));
    }
    size_t best = 0;
    mp_float_t most = numbers_get(&numbers, 0);
    for (size_t i = 1; i < numbers.count; i++) {
        mp_float_t value = numbers_get(&numbers, i);
        if (value > most) {
            best = i;
            most = value;
        }
    }
    return MP_OBJ_NEW_SMALL_INT(best);
}
static MP_DEFINE_CONST_FUN_OBJ_1(image_argmax_obj, image_argmax);

/** above(values, limit, start=0, step=1): indices of numbers of at least `limit`. */
static mp_obj_t image_above(size_t n_args, const mp_obj_t *args)
{
    struct numbers numbers = get_values(args[0]);
    mp_float_t limit = mp_obj_get_float(args[1]);
    mp_int_t start = n_args > 2 ? mp_obj_get_int(args[2]) : 0;
    mp_int_t step = n_args > 3 ? mp_obj_get_int(args[3]) : 1;
    if (start < 0 || step < 1) {
        mp_raise_msg_varg(
            &mp_type_ValueError,
            MP_ERROR_TEXT("start is %d, step is %d, 0 or more and 1 or more expected"), (int)start,
            (int)step);
    }
    mp_obj_t found = mp_obj_new_list(0, NULL);
    for (size_t i = (size_t)start; i < numbers.count; i += (size_t)step) {
        if (numbers_get(&numbers, i) >= limit) {
            mp_obj_list_append(found, MP_OBJ_NEW_SMALL_INT(i));
        }
    }
    return found;
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(image_above_obj, 2, 4, image_above);

BINDING_DOC(image_doc,
            "Pictures into models.\n"
            "  see = Input(frame, (320, 240), RGB565, fit=PAD)   # a callable input\n"
            "  y, = model.predict([see])                        # written into the tensor\n"
            "  argmax(y), above(y, limit)                       # what to look at")

static const mp_rom_map_elem_t image_globals_table[] = {
    {MP_ROM_QSTR(MP_QSTR___name__), MP_ROM_QSTR(MP_QSTR_ethosu_image)},
    {MP_ROM_QSTR(MP_QSTR_Input), MP_ROM_PTR(&binding_image_input_type)},
    {MP_ROM_QSTR(MP_QSTR_argmax), MP_ROM_PTR(&image_argmax_obj)},
    {MP_ROM_QSTR(MP_QSTR_above), MP_ROM_PTR(&image_above_obj)},
    {MP_ROM_QSTR(MP_QSTR_GRAY), MP_ROM_INT(IMAGE_GRAY)},
    {MP_ROM_QSTR(MP_QSTR_RGB565), MP_ROM_INT(IMAGE_RGB565)},
    {MP_ROM_QSTR(MP_QSTR_RGB888), MP_ROM_INT(IMAGE_RGB888)},
    {MP_ROM_QSTR(MP_QSTR_NEAREST), MP_ROM_INT(IMAGE_NEAREST)},
    {MP_ROM_QSTR(MP_QSTR_BILINEAR), MP_ROM_INT(IMAGE_BILINEAR)},
    {MP_ROM_QSTR(MP_QSTR_AREA), MP_ROM_INT(IMAGE_AREA)},
    {MP_ROM_QSTR(MP_QSTR_CORNERS), MP_ROM_INT(IMAGE_CORNERS)},
    {MP_ROM_QSTR(MP_QSTR_STRETCH), MP_ROM_INT(IMAGE_FIT_STRETCH)},
    {MP_ROM_QSTR(MP_QSTR_PAD), MP_ROM_INT(IMAGE_FIT_PAD)},
    {MP_ROM_QSTR(MP_QSTR_CROP), MP_ROM_INT(IMAGE_FIT_CROP)},
    BINDING_DOC_ENTRY(image_doc)};
static MP_DEFINE_CONST_DICT(image_globals, image_globals_table);

const mp_obj_module_t ethosu_image_module = {
    .base = {&mp_type_module},
    .globals = (mp_obj_dict_t *)&image_globals,
};

MP_REGISTER_MODULE(MP_QSTR_ethosu_image, ethosu_image_module);
