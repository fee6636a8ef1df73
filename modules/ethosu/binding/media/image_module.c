// SPDX-License-Identifier: MIT
/** Python module `ethosu_image`: convert pictures to tensors and evaluate outputs. */
#include <string.h>

#include "binding/call/methods.h"
#include "binding/call/raise.h"
#include "binding/tensor/element.h"
#include "image.h"
#include "py/objarray.h"
#include "py/runtime.h"

/* ---- class Input ---- */

/** How a picture gets the proportions of a tensor. */
enum { IMAGE_FIT_STRETCH, IMAGE_FIT_PAD, IMAGE_FIT_CROP, IMAGE_FITS };

typedef struct {
    mp_obj_base_t base;
    mp_obj_t pixels;
    mp_obj_t table; /**< None: pixels unchanged, minus 128 for a signed tensor */
    int32_t width;
    int32_t height;
    struct image_rectangle roi;
    struct image_rectangle written; /**< size of the last target; unset before the first */
    enum image_format format;
    enum image_filter filter;
    int quarters;
    int fit;
    bool mirror;
    char typecode; /**< of the table */
} input_obj_t;

/* ---- arguments ---- */

/** Numbers of a tuple or list of `count`; raises. */
static void get_integers(mp_obj_t given, size_t count, int32_t *numbers, const char *what)
{
    size_t length = 0;
    mp_obj_t *items = NULL;
    if (mp_obj_is_type(given, &mp_type_tuple) || mp_obj_is_type(given, &mp_type_list)) {
        mp_obj_get_array(given, &length, &items);
    }
    if (length != count) {
        mp_raise_msg_varg(&mp_type_TypeError,
                          MP_ERROR_TEXT("%s is %s, expected a tuple of %d integers"), what,
                          mp_obj_get_type_str(given), (int)count);
    }
    for (size_t i = 0; i < count; i++) {
        numbers[i] = (int32_t)mp_obj_get_int(items[i]);
    }
}

/** One of `count` constants; raises. */
static int get_choice(mp_int_t given, int count, const char *what)
{
    if (given < 0 || given >= count) {
        mp_raise_msg_varg(&mp_type_ValueError,
                          MP_ERROR_TEXT("%s is %d, expected a constant from 0 to %d"), what,
                          (int)given, count - 1);
    }
    return (int)given;
}

static void get_size(input_obj_t *self, mp_obj_t given)
{
    int32_t size[2];
    get_integers(given, 2, size, "size");
    for (size_t i = 0; i < 2; i++) {
        if (size[i] < 1 || size[i] > IMAGE_MAX_SIDE) {
            mp_raise_msg_varg(
                &mp_type_ValueError,
                MP_ERROR_TEXT("size is (%d, %d), expected width and height from 1 to %d"),
                (int)size[0], (int)size[1], IMAGE_MAX_SIDE);
        }
    }
    self->width = size[0];
    self->height = size[1];
    self->roi = (struct image_rectangle){0, 0, size[0], size[1]};
}

static void get_roi(input_obj_t *self, mp_obj_t given)
{
    if (given == mp_const_none) {
        return;
    }
    int32_t r[4];
    get_integers(given, 4, r, "roi");
    self->roi = (struct image_rectangle){r[0], r[1], r[2], r[3]};
    if (!image_has(self->width, self->height, &self->roi)) {
        mp_raise_msg_varg(
            &mp_type_ValueError,
            MP_ERROR_TEXT("roi is (%d, %d, %d, %d), expected a rectangle in a picture of %d x %d"),
            (int)r[0], (int)r[1], (int)r[2], (int)r[3], (int)self->width, (int)self->height);
    }
}

static int get_quarters(mp_int_t degrees)
{
    if (degrees % 90 != 0) {
        mp_raise_msg_varg(&mp_type_ValueError,
                          MP_ERROR_TEXT("rotate is %d, expected a multiple of 90"), (int)degrees);
    }
    return (int)(degrees / 90 & 3);
}

/** Parse one number, or one for each of three channels; returns their count. Raises. */
static size_t get_statistics(mp_obj_t given, float *values, const char *what)
{
    struct numbers numbers = {&given, NULL, 1, 0};
    if (!mp_obj_is_float(given) && !mp_obj_is_int(given) &&
        (!element_source(given, &numbers) || numbers.count != 3)) {
        mp_raise_msg_varg(&mp_type_TypeError, MP_ERROR_TEXT("%s: expected one or three numbers"),
                          what);
    }
    for (size_t i = 0; i < 3; i++) {
        values[i] = (float)element_get(&numbers, numbers.count == 3 ? i : 0);
    }
    return numbers.count;
}

/* ---- the table ---- */

static mp_obj_t new_table(char typecode, size_t count)
{
    mp_obj_array_t *array = m_new_obj(mp_obj_array_t);
    array->base.type = &mp_type_array;
    array->typecode = (size_t)typecode;
    array->free = 0;
    array->len = count;
    array->items = m_new0(uint8_t, count *element_width(typecode));
    return MP_OBJ_FROM_PTR(array);
}

static char get_typecode(mp_obj_t dtype)
{
    size_t length = 0;
    const char *text = mp_obj_is_str(dtype) ? mp_obj_str_get_data(dtype, &length) : NULL;
    char typecode = length == 1 ? text[0] : 0;
    if (mp_obj_is_int(dtype)) {
        typecode = (char)mp_obj_get_int(dtype);
    }
    size_t width = typecode == 0 ? 0 : element_width(typecode);
    if (width == 0 || width > 4) {
        mp_raise_ValueError(
            MP_ERROR_TEXT("dtype: expected an array typecode for numbers of 1, 2 or 4 bytes"));
    }
    return typecode;
}

/** Raw values of a tensor for (pixel - mean) / std, in single precision. */
static void make_table(input_obj_t *self, mp_obj_t tensor, mp_obj_t mean_in, mp_obj_t std_in)
{
    float mean[3];
    float std[3];
    if (tensor == mp_const_none) {
        mp_raise_ValueError(MP_ERROR_TEXT("mean and std need tensor=, such as model.inputs[0]"));
    }
    size_t tables = get_statistics(mean_in, mean, "mean");
    tables = MAX(tables, get_statistics(std_in, std, "std"));
    struct quantization quantization = {
        .scale = (float)mp_obj_get_float(mp_load_attr(tensor, MP_QSTR_scale)),
        .zero_point = (int32_t)mp_obj_get_int(mp_load_attr(tensor, MP_QSTR_zero_point)),
    };
    self->typecode = get_typecode(mp_load_attr(tensor, MP_QSTR_dtype));
    self->table = new_table(self->typecode, tables * 256);
    mp_obj_array_t *array = MP_OBJ_TO_PTR(self->table);
    for (size_t c = 0; c < tables; c++) {
        if (!(std[c] > 0.0f)) {
            mp_raise_ValueError(MP_ERROR_TEXT("std: expected numbers above 0"));
        }
        for (size_t value = 0; value < 256; value++) {
            element_put_quantized(array->items, self->typecode, c * 256 + value,
                                  ((float)value - mean[c]) / std[c], &quantization);
        }
    }
}

/** The caller's own table; raises. */
static void take_table(input_obj_t *self, mp_obj_t given)
{
    struct numbers numbers;
    if (!element_source(given, &numbers) || numbers.items != NULL ||
        (numbers.count != 256 && numbers.count != 768)) {
        mp_raise_TypeError(MP_ERROR_TEXT("table: expected an array of 256 or 768 raw values"));
    }
    self->table = given;
    self->typecode = numbers.typecode;
}

/* ---- writing ---- */

/** Pixels of an int8 tensor without a table: less 128. */
#define ROW(x) x, (x) + 1, (x) + 2, (x) + 3, (x) + 4, (x) + 5, (x) + 6, (x) + 7
#define ROWS(x) ROW(x), ROW((x) + 8), ROW((x) + 16), ROW((x) + 24)
static const uint8_t less_128[256] = {ROWS(128), ROWS(160), ROWS(192), ROWS(224),
                                      ROWS(0),   ROWS(32),  ROWS(64),  ROWS(96)};

static struct image_view view_of(const input_obj_t *self, const mp_buffer_info_t *pixels)
{
    struct image_view view = image_view_of(pixels->buf, self->width, self->height, self->format);
    (void)image_crop(&view, &self->roi);
    image_turn(&view, self->quarters);
    if (self->mirror) {
        image_mirror(&view);
    }
    return view;
}

static void get_pixels(const input_obj_t *self, mp_obj_t pixels, mp_buffer_info_t *buffer)
{
    binding_get_memory(pixels, buffer, MP_BUFFER_READ, "pixels");
    size_t size =
        (size_t)self->width * (size_t)self->height * (size_t)image_pixel_size(self->format);
    if (buffer->len != size) {
        mp_raise_msg_varg(&mp_type_ValueError,
                          MP_ERROR_TEXT("pixels has %d bytes, expected %d (%d x %d, %d per pixel)"),
                          (int)buffer->len, (int)size, (int)self->width, (int)self->height,
                          (int)image_pixel_size(self->format));
    }
}

/** Height, width and channels of a tensor's shape: its last three dimensions. Raises. */
static void get_target(struct image_target *target, mp_obj_t shape)
{
    size_t rank;
    mp_obj_t *items;
    mp_obj_get_array(shape, &rank, &items);
    int32_t size[3] = {0, 0, 0};
    for (size_t i = 0; i < 3 && rank >= 3; i++) {
        size[i] = (int32_t)mp_obj_get_int(items[rank - 3 + i]);
    }
    bool batch = rank > 3 && (rank > 4 || mp_obj_get_int(items[0]) != 1);
    if (batch || size[0] < 1 || size[1] < 1 || size[0] > IMAGE_MAX_SIDE ||
        size[1] > IMAGE_MAX_SIDE || (size[2] != 1 && size[2] != 3)) {
        mp_raise_ValueError(
            MP_ERROR_TEXT("shape: expected (1, height, width, channels) with 1 or 3 channels"));
    }
    target->height = size[0];
    target->width = size[1];
    target->channels = size[2];
}

static void set_table(const input_obj_t *self, struct image_target *target, char typecode)
{
    target->element_size = (uint32_t)element_width(typecode);
    if (self->table == mp_const_none) {
        if (target->element_size != 1) {
            mp_raise_msg_varg(
                &mp_type_ValueError,
                MP_ERROR_TEXT("a tensor of typecode '%c' needs mean=, std= and tensor="), typecode);
        }
        target->table = typecode == 'b' ? less_128 : NULL;
        return;
    }
    mp_buffer_info_t table;
    mp_get_buffer_raise(self->table, &table, MP_BUFFER_READ);
    size_t one = 256 * (size_t)target->element_size;
    if (self->typecode != typecode || (table.len != one && table.len != 3 * one)) {
        mp_raise_msg_varg(&mp_type_TypeError,
                          MP_ERROR_TEXT("the table has typecode '%c', the tensor '%c'"),
                          self->typecode, typecode);
    }
    if (table.len == 3 * one && target->channels != 3) {
        mp_raise_ValueError(
            MP_ERROR_TEXT("three tables, or three means, for a tensor of one channel"));
    }
    target->table = table.buf;
    target->table_step = table.len == one ? 0 : 256;
}

/** The rectangle of the view, or of the target, that `fit` leaves. */
static void set_inner(const input_obj_t *self, struct image_view *view, struct image_target *target)
{
    target->inner = (struct image_rectangle){0, 0, target->width, target->height};
    if (self->fit == IMAGE_FIT_PAD) {
        target->inner = image_fit(view, target->width, target->height);
    } else if (self->fit == IMAGE_FIT_CROP) {
        struct image_rectangle part = image_cover(view, target->width, target->height);
        (void)image_crop(view, &part);
    }
}

/** input(memory, shape, dtype): write the picture; a model calls this for a callable input. */
static mp_obj_t input_call(mp_obj_t self_in, size_t n_args, size_t n_kw, const mp_obj_t *args)
{
    mp_arg_check_num(n_args, n_kw, 3, 3, false);
    input_obj_t *self = MP_OBJ_TO_PTR(self_in);
    struct image_target target = {0};
    mp_buffer_info_t memory;
    mp_buffer_info_t pixels;
    get_target(&target, args[1]);
    set_table(self, &target, get_typecode(args[2]));
    binding_get_memory(args[0], &memory, MP_BUFFER_WRITE, "memory");
    get_pixels(self, self->pixels, &pixels);
    size_t size = (size_t)target.width * (size_t)target.height * (size_t)target.channels *
                  target.element_size;
    if (memory.len != size) {
        mp_raise_msg_varg(&mp_type_ValueError, MP_ERROR_TEXT("memory has %d bytes, expected %d"),
                          (int)memory.len, (int)size);
    }
    uintptr_t to = (uintptr_t)memory.buf;
    uintptr_t from = (uintptr_t)pixels.buf;
    if (to < from + pixels.len && from < to + memory.len) {
        mp_raise_ValueError(MP_ERROR_TEXT("memory and pixels overlap"));
    }
    target.data = memory.buf;
    struct image_view view = view_of(self, &pixels);
    set_inner(self, &view, &target);
    image_write(&view, &target, self->filter);
    self->written = (struct image_rectangle){0, 0, target.width, target.height};
    return mp_const_none;
}

/* ---- the object ---- */

static mp_obj_t input_make_new(const mp_obj_type_t *type, size_t n_args, size_t n_kw,
                               const mp_obj_t *all_args)
{
    enum { PIXELS, SIZE, FORMAT, ROI, ROTATE, MIRROR, FIT, FILTER, TENSOR, MEAN, STD, TABLE };
    static const mp_arg_t allowed[] = {
        {MP_QSTR_pixels, MP_ARG_REQUIRED | MP_ARG_OBJ, {.u_obj = MP_OBJ_NULL}},
        {MP_QSTR_size, MP_ARG_REQUIRED | MP_ARG_OBJ, {.u_obj = MP_OBJ_NULL}},
        {MP_QSTR_format, MP_ARG_INT, {.u_int = IMAGE_GRAY}},
        {MP_QSTR_roi, MP_ARG_KW_ONLY | MP_ARG_OBJ, {.u_rom_obj = MP_ROM_NONE}},
        {MP_QSTR_rotate, MP_ARG_KW_ONLY | MP_ARG_INT, {.u_int = 0}},
        {MP_QSTR_mirror, MP_ARG_KW_ONLY | MP_ARG_BOOL, {.u_bool = false}},
        {MP_QSTR_fit, MP_ARG_KW_ONLY | MP_ARG_INT, {.u_int = IMAGE_FIT_STRETCH}},
        {MP_QSTR_filter, MP_ARG_KW_ONLY | MP_ARG_INT, {.u_int = IMAGE_BILINEAR}},
        {MP_QSTR_tensor, MP_ARG_KW_ONLY | MP_ARG_OBJ, {.u_rom_obj = MP_ROM_NONE}},
        {MP_QSTR_mean, MP_ARG_KW_ONLY | MP_ARG_OBJ, {.u_rom_obj = MP_ROM_NONE}},
        {MP_QSTR_std, MP_ARG_KW_ONLY | MP_ARG_OBJ, {.u_rom_obj = MP_ROM_NONE}},
        {MP_QSTR_table, MP_ARG_KW_ONLY | MP_ARG_OBJ, {.u_rom_obj = MP_ROM_NONE}},
    };
    mp_arg_val_t args[MP_ARRAY_SIZE(allowed)];
    mp_arg_parse_all_kw_array(n_args, n_kw, all_args, MP_ARRAY_SIZE(allowed), allowed, args);
    input_obj_t *self = mp_obj_malloc(input_obj_t, type);
    self->pixels = args[PIXELS].u_obj;
    self->table = mp_const_none;
    self->written = (struct image_rectangle){0, 0, 0, 0};
    self->format = (enum image_format)get_choice(args[FORMAT].u_int, IMAGE_FORMATS, "format");
    self->filter = (enum image_filter)get_choice(args[FILTER].u_int, IMAGE_FILTERS, "filter");
    self->fit = get_choice(args[FIT].u_int, IMAGE_FITS, "fit");
    self->quarters = get_quarters(args[ROTATE].u_int);
    self->mirror = args[MIRROR].u_bool;
    get_size(self, args[SIZE].u_obj);
    get_roi(self, args[ROI].u_obj);
    mp_buffer_info_t pixels;
    get_pixels(self, self->pixels, &pixels);
    if (args[TABLE].u_obj != mp_const_none) {
        take_table(self, args[TABLE].u_obj);
    } else if (args[MEAN].u_obj != mp_const_none || args[STD].u_obj != mp_const_none) {
        make_table(self, args[TENSOR].u_obj, args[MEAN].u_obj, args[STD].u_obj);
    }
    return MP_OBJ_FROM_PTR(self);
}

/** source(x, y): map a tensor position (0 to 1 each) to picture coordinates in pixels. */
static mp_obj_t input_source(mp_obj_t self_in, mp_obj_t x_in, mp_obj_t y_in)
{
    input_obj_t *self = MP_OBJ_TO_PTR(self_in);
    struct image_target target = {.width = self->written.width, .height = self->written.height};
    if (target.width == 0) {
        mp_raise_ValueError(MP_ERROR_TEXT("nothing written yet: predict first"));
    }
    mp_buffer_info_t pixels;
    get_pixels(self, self->pixels, &pixels);
    struct image_view view = view_of(self, &pixels);
    set_inner(self, &view, &target);
    const struct image_rectangle *inner = &target.inner;
    // Pixels of the view from the centre of its first one.
    mp_float_t u = (mp_obj_get_float(x_in) * target.width - inner->x) * view.width / inner->width;
    mp_float_t v =
        (mp_obj_get_float(y_in) * target.height - inner->y) * view.height / inner->height;
    u -= MICROPY_FLOAT_CONST(0.5);
    v -= MICROPY_FLOAT_CONST(0.5);
    int32_t pixel = image_pixel_size(self->format);
    int32_t first = (int32_t)(view.origin - (const uint8_t *)pixels.buf) / pixel;
    mp_float_t place[2] = {first % self->width + MICROPY_FLOAT_CONST(0.5),
                           first / self->width + MICROPY_FLOAT_CONST(0.5)};
    bool turned = (self->quarters & 1) != 0;
    int32_t across = turned ? view.step_y : view.step_x;
    int32_t down = turned ? view.step_x : view.step_y;
    place[0] += (across > 0 ? 1 : -1) * (turned ? v : u);
    place[1] += (down > 0 ? 1 : -1) * (turned ? u : v);
    mp_obj_t items[] = {mp_obj_new_float(place[0]), mp_obj_new_float(place[1])};
    return mp_obj_new_tuple(2, items);
}
static MP_DEFINE_CONST_FUN_OBJ_3(input_source_obj, input_source);

static const mp_rom_map_elem_t input_locals_table[] = {
    {MP_ROM_QSTR(MP_QSTR_source), MP_ROM_PTR(&input_source_obj)},
};
static MP_DEFINE_CONST_DICT(input_locals, input_locals_table);

/** input.pixels: another picture of the same size and format. */
static void input_attribute(mp_obj_t self_in, qstr name, mp_obj_t *destination)
{
    input_obj_t *self = MP_OBJ_TO_PTR(self_in);
    if (name != MP_QSTR_pixels) {
        if (destination[0] == MP_OBJ_NULL) {
            destination[1] = MP_OBJ_SENTINEL; // a method: look in locals
        }
    } else if (destination[0] == MP_OBJ_NULL) {
        destination[0] = self->pixels;
    } else if (destination[1] != MP_OBJ_NULL) {
        mp_buffer_info_t pixels;
        get_pixels(self, destination[1], &pixels);
        self->pixels = destination[1];
        destination[0] = MP_OBJ_NULL; // done
    }
}

// clang-format off
static MP_DEFINE_CONST_OBJ_TYPE(
    image_input_type, MP_QSTR_Input, MP_TYPE_FLAG_NONE,
    make_new, input_make_new,
    call, input_call,
    attr, input_attribute,
    locals_dict, &input_locals
);
// clang-format on

/* ---- the module ---- */

/** Numbers of a buffer or list; raises. */
static struct numbers get_values(mp_obj_t given)
{
    struct numbers numbers;
    if (!element_source(given, &numbers)) {
        mp_raise_msg_varg(
            &mp_type_TypeError,
            MP_ERROR_TEXT("values is of type %s, expected a buffer or list of numbers"),
            mp_obj_get_type_str(given));
    }
    return numbers;
}

/** argmax(values): index of the largest number; the first if several are equal. */
static mp_obj_t image_argmax(mp_obj_t given)
{
    struct numbers numbers = get_values(given);
    if (numbers.count == 0) {
        mp_raise_ValueError(MP_ERROR_TEXT("values is empty, expected one or more numbers"));
    }
    size_t best = 0;
    mp_float_t most = element_get(&numbers, 0);
    for (size_t i = 1; i < numbers.count; i++) {
        mp_float_t value = element_get(&numbers, i);
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
            MP_ERROR_TEXT("start is %d, step is %d, expected 0 or more and 1 or more"), (int)start,
            (int)step);
    }
    mp_obj_t indices = mp_obj_new_list(0, NULL);
    for (size_t i = (size_t)start; i < numbers.count; i += (size_t)step) {
        if (element_get(&numbers, i) >= limit) {
            mp_obj_list_append(indices, MP_OBJ_NEW_SMALL_INT(i));
        }
    }
    return indices;
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(image_above_obj, 2, 4, image_above);

BINDING_DOC(image_doc,
            "Pictures into models.\n"
            "  see = Input(frame, (320, 240), RGB565, fit=PAD)   # a callable input\n"
            "  y, = model.predict([see])                        # written into the tensor\n"
            "  argmax(y), above(y, limit)                       # best class, detections")

static const mp_rom_map_elem_t image_globals_table[] = {
    {MP_ROM_QSTR(MP_QSTR___name__), MP_ROM_QSTR(MP_QSTR_ethosu_image)},
    {MP_ROM_QSTR(MP_QSTR_Input), MP_ROM_PTR(&image_input_type)},
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
