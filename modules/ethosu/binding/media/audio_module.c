// SPDX-License-Identifier: MIT
/** Python module `ethosu_audio`: `MicroFrontend`, `Mfcc` and `LogMel`, samples in, rows out. */
#include "binding/media/audio.h"

#include <string.h>

#include "binding/call/methods.h"
#include "binding/call/raise.h"
#include "py/binary.h"
#include "py/runtime.h"

/* ---- front ends ---- */

typedef struct {
    mp_obj_base_t base;
    size_t values; /**< of a row */
    struct ethosu_audio_window *window;
    union {
        struct ethosu_audio_micro micro;
        struct ethosu_audio_mel mel;
    };
    float row[]; /**< of a micro frontend integers, before they are scaled */
} frontend_obj_t;

static bool is_micro(const frontend_obj_t *self)
{
    return self->base.type == &audio_micro_type;
}

static _Noreturn void raise_range(qstr type, const char *name, int most)
{
    mp_raise_msg_varg(&mp_type_ValueError, MP_ERROR_TEXT("%q: %s is out of range, 1 to %d"), type,
                      name, most);
}

/** MicroFrontend(*, hop=160) */
static mp_obj_t micro_make_new(const mp_obj_type_t *type, size_t n_args, size_t n_kw,
                               const mp_obj_t *args)
{
    static const mp_arg_t allowed_args[] = {
        {MP_QSTR_hop, MP_ARG_KW_ONLY | MP_ARG_INT, {.u_int = 160}},
    };
    mp_arg_val_t given[MP_ARRAY_SIZE(allowed_args)];
    mp_arg_parse_all_kw_array(n_args, n_kw, args, MP_ARRAY_SIZE(allowed_args), allowed_args, given);
    mp_int_t hop = given[0].u_int;
    if (hop < 1 || hop > ETHOSU_AUDIO_MICRO_WINDOW) {
        raise_range(type->name, "hop", ETHOSU_AUDIO_MICRO_WINDOW);
    }
    frontend_obj_t *self = mp_obj_malloc_var(frontend_obj_t, row, float,
                                             (ETHOSU_AUDIO_MICRO_BANDS + 1) / 2, &audio_micro_type);
    ethosu_audio_micro_start(&self->micro, (size_t)hop);
    self->window = &self->micro.window;
    self->values = ETHOSU_AUDIO_MICRO_BANDS;
    return MP_OBJ_FROM_PTR(self);
}

/** A count that must be positive; the C code checks the upper limit. */
static size_t get_count(qstr type, const char *name, mp_int_t value, int most)
{
    if (value < 1 || value > most) {
        raise_range(type, name, most);
    }
    return (size_t)value;
}

static float get_float(mp_obj_t given, float otherwise)
{
    return given == mp_const_none ? otherwise : mp_obj_get_float_to_f(given);
}

static mp_obj_t mel_new(const mp_obj_type_t *type, const struct ethosu_audio_mel_config *config)
{
    const char *wrong = ethosu_audio_mel_check(config);
    if (wrong != NULL) {
        mp_raise_msg_varg(&mp_type_ValueError,
                          MP_ERROR_TEXT("%q: %s is out of range; hop is at most window, "
                                        "coefficients at most bands, 0 <= low_hz < high_hz <= %d"),
                          type->name, wrong, ETHOSU_AUDIO_RATE / 2);
    }
    frontend_obj_t *self =
        mp_obj_malloc_var(frontend_obj_t, row, float, MAX(config->bands, 1), type);
    memset(&self->mel, 0, sizeof(self->mel)); // the collector sees it while memory is allocated
    ethosu_audio_mel_start(&self->mel, config,
                           m_new(float, ethosu_audio_mel_size(config) / sizeof(float) + 1));
    self->window = &self->mel.window;
    self->values = ethosu_audio_mel_values(&self->mel);
    return MP_OBJ_FROM_PTR(self);
}

/** Mfcc(*, window=480, hop=320, bands=40, low_hz=20, high_hz=4000, coefficients=10); LogMel() */
static mp_obj_t mel_make_new(const mp_obj_type_t *type, size_t n_args, size_t n_kw,
                             const mp_obj_t *args)
{
    bool mfcc = type == &audio_mfcc_type;
    const mp_arg_t allowed_args[] = {
        {MP_QSTR_window, MP_ARG_KW_ONLY | MP_ARG_INT, {.u_int = mfcc ? 480 : 1024}},
        {MP_QSTR_hop, MP_ARG_KW_ONLY | MP_ARG_INT, {.u_int = mfcc ? 320 : 512}},
        {MP_QSTR_bands, MP_ARG_KW_ONLY | MP_ARG_INT, {.u_int = mfcc ? 40 : 128}},
        {MP_QSTR_low_hz, MP_ARG_KW_ONLY | MP_ARG_OBJ, {.u_rom_obj = MP_ROM_NONE}},
        {MP_QSTR_high_hz, MP_ARG_KW_ONLY | MP_ARG_OBJ, {.u_rom_obj = MP_ROM_NONE}},
        {MP_QSTR_coefficients, MP_ARG_KW_ONLY | MP_ARG_INT, {.u_int = 10}},
    };
    mp_arg_val_t given[MP_ARRAY_SIZE(allowed_args)];
    mp_arg_parse_all_kw_array(n_args, n_kw, args, MP_ARRAY_SIZE(allowed_args) - (mfcc ? 0 : 1),
                              allowed_args, given);
    struct ethosu_audio_mel_config config = {
        .window = get_count(type->name, "window", given[0].u_int, ETHOSU_AUDIO_MEL_WINDOW),
        .hop = get_count(type->name, "hop", given[1].u_int, ETHOSU_AUDIO_MEL_WINDOW),
        .bands = get_count(type->name, "bands", given[2].u_int, ETHOSU_AUDIO_MEL_BANDS),
        .coefficients =
            mfcc ? get_count(type->name, "coefficients", given[5].u_int, ETHOSU_AUDIO_MEL_BANDS)
                 : 0,
        .low_hz = get_float(given[3].u_obj, mfcc ? 20.0f : 0.0f),
        .high_hz = get_float(given[4].u_obj, mfcc ? 4000.0f : ETHOSU_AUDIO_RATE / 2),
        .scale = mfcc ? ETHOSU_AUDIO_HTK : ETHOSU_AUDIO_SLANEY,
        .power = !mfcc,
        .offset = mfcc ? 1e-6f : 2.220446e-16f,
        .multiplier = mfcc ? 1.0f : 4.34294482f, // 10 / ln(10): decibels
    };
    return mel_new(type, &config);
}

/** rows(samples): number of rows that `samples` further samples complete. */
static mp_obj_t frontend_rows(mp_obj_t self_in, mp_obj_t samples)
{
    frontend_obj_t *self = MP_OBJ_TO_PTR(self_in);
    mp_int_t count = mp_obj_get_int(samples);
    if (count < 0) {
        mp_raise_msg_varg(&mp_type_ValueError, MP_ERROR_TEXT("samples is %d, expected 0 or more"),
                          (int)count);
    }
    return mp_obj_new_int_from_uint(ethosu_audio_rows(self->window, (size_t)count));
}
static MP_DEFINE_CONST_FUN_OBJ_2(frontend_rows_obj, frontend_rows);

/** Where rows go: floats, or the integers of the micro frontend. */
struct destination {
    void *data;
    char typecode;
    size_t rows;
};

static struct destination get_destination(const frontend_obj_t *self, mp_obj_t object)
{
    mp_buffer_info_t buffer;
    binding_get_memory(object, &buffer, MP_BUFFER_WRITE, "rows");
    char typecode = (char)buffer.typecode;
    if (typecode != 'f' && !(typecode == 'H' && is_micro(self))) {
        mp_raise_msg_varg(&mp_type_TypeError, MP_ERROR_TEXT("rows has typecode '%c', expected %s"),
                          typecode, is_micro(self) ? "'f' or 'H'" : "'f'");
    }
    size_t count = buffer.len / (typecode == 'f' ? sizeof(float) : sizeof(uint16_t));
    if (count == 0 || count % self->values != 0) {
        mp_raise_msg_varg(&mp_type_ValueError,
                          MP_ERROR_TEXT("rows holds %d numbers, expected a multiple of %d"),
                          (int)count, (int)self->values);
    }
    return (struct destination){buffer.buf, typecode, count / self->values};
}

/** Make a row of a full window. */
static void make_row(frontend_obj_t *self, const struct destination *rows, size_t index)
{
    size_t at = index * self->values;
    if (!is_micro(self)) {
        ethosu_audio_mel_row(&self->mel, (float *)rows->data + at);
    } else if (rows->typecode == 'H') {
        ethosu_audio_micro_row(&self->micro, (uint16_t *)rows->data + at);
    } else {
        uint16_t *integers = (uint16_t *)(void *)self->row;
        ethosu_audio_micro_row(&self->micro, integers);
        for (size_t i = 0; i < self->values; i++) {
            ((float *)rows->data)[at + i] = (float)integers[i] * ETHOSU_AUDIO_MICRO_SCALE;
        }
    }
    ethosu_audio_window_advance(self->window);
}

/** Convert samples to rows until the output is full; returns the number of samples consumed.
 */
static size_t take(frontend_obj_t *self, const int16_t *samples, size_t count,
                   const struct destination *rows, size_t *made)
{
    size_t taken = 0;
    while (taken < count && *made < rows->rows) {
        taken += ethosu_audio_window_take(self->window, samples + taken, count - taken);
        if (ethosu_audio_window_full(self->window)) {
            make_row(self, rows, (*made)++);
        }
    }
    return taken;
}

/** process(samples, rows): consume samples, write completed rows; returns the number of rows. */
static mp_obj_t frontend_process(mp_obj_t self_in, mp_obj_t source, mp_obj_t rows_in)
{
    frontend_obj_t *self = MP_OBJ_TO_PTR(self_in);
    struct destination rows = get_destination(self, rows_in);
    struct ethosu_audio_ring *ring = audio_ring_of(source);
    size_t made = 0;
    if (ring != NULL) {
        const int16_t *piece;
        uint32_t count;
        while (made < rows.rows && (count = ethosu_audio_ring_piece(ring, &piece)) > 0) {
            ethosu_audio_ring_took(ring, (uint32_t)take(self, piece, count, &rows, &made));
        }
        return MP_OBJ_NEW_SMALL_INT(made);
    }
    struct audio_samples samples = audio_get_samples(source, MP_BUFFER_READ, "samples");
    size_t finished = ethosu_audio_rows(self->window, samples.count);
    if (finished > rows.rows) {
        mp_raise_msg_varg(&mp_type_ValueError,
                          MP_ERROR_TEXT("%d samples make %d rows, rows has room for %d"),
                          (int)samples.count, (int)finished, (int)rows.rows);
    }
    size_t taken = take(self, samples.data, samples.count, &rows, &made);
    // The rows are full, but samples may follow that finish no further one.
    ethosu_audio_window_take(self->window, samples.data + taken, samples.count - taken);
    return MP_OBJ_NEW_SMALL_INT(made);
}
static MP_DEFINE_CONST_FUN_OBJ_3(frontend_process_obj, frontend_process);

/** reset(): as new, with the same settings. */
static mp_obj_t frontend_reset(mp_obj_t self_in)
{
    frontend_obj_t *self = MP_OBJ_TO_PTR(self_in);
    if (is_micro(self)) {
        ethosu_audio_micro_start(&self->micro, self->window->hop);
    }
    self->window->used = 0;
    return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_1(frontend_reset_obj, frontend_reset);

static void frontend_attribute(mp_obj_t self_in, qstr name, mp_obj_t *destination)
{
    frontend_obj_t *self = MP_OBJ_TO_PTR(self_in);
    bool gain = name == MP_QSTR_gain && !is_micro(self);
    if (destination[0] == MP_OBJ_SENTINEL) {
        if (gain && destination[1] != MP_OBJ_NULL) {
            self->mel.gain = mp_obj_get_float_to_f(destination[1]);
            destination[0] = MP_OBJ_NULL; // stored
        }
    } else if (gain) {
        destination[0] = mp_obj_new_float_from_f(self->mel.gain);
    } else if (name == MP_QSTR_values) {
        destination[0] = mp_obj_new_int_from_uint(self->values);
    } else if (name == MP_QSTR_window) {
        destination[0] = mp_obj_new_int_from_uint(self->window->size);
    } else if (name == MP_QSTR_hop) {
        destination[0] = mp_obj_new_int_from_uint(self->window->hop);
    } else {
        destination[1] = MP_OBJ_SENTINEL; // a method
    }
}

static void frontend_print(const mp_print_t *print, mp_obj_t self_in, mp_print_kind_t kind)
{
    (void)kind;
    frontend_obj_t *self = MP_OBJ_TO_PTR(self_in);
    mp_printf(print, "<%q: rows of %d values, window %d, hop %d samples>", self->base.type->name,
              (int)self->values, (int)self->window->size, (int)self->window->hop);
}

static const mp_rom_map_elem_t frontend_locals_table[] = {
    {MP_ROM_QSTR(MP_QSTR_process), MP_ROM_PTR(&frontend_process_obj)},
    {MP_ROM_QSTR(MP_QSTR_reset), MP_ROM_PTR(&frontend_reset_obj)},
    {MP_ROM_QSTR(MP_QSTR_rows), MP_ROM_PTR(&frontend_rows_obj)},
};
static MP_DEFINE_CONST_DICT(frontend_locals, frontend_locals_table);

// clang-format off
#define FRONTEND_TYPE(type, name, constructor) \
    MP_DEFINE_CONST_OBJ_TYPE(                  \
        type, name, MP_TYPE_FLAG_NONE,         \
        make_new, constructor,                 \
        print, frontend_print,                 \
        attr, frontend_attribute,              \
        locals_dict, &frontend_locals          \
    )
// clang-format on

FRONTEND_TYPE(audio_micro_type, MP_QSTR_MicroFrontend, micro_make_new);
FRONTEND_TYPE(audio_mfcc_type, MP_QSTR_Mfcc, mel_make_new);
FRONTEND_TYPE(audio_log_mel_type, MP_QSTR_LogMel, mel_make_new);

/* ---- the module ---- */

BINDING_DOC(module_doc, "Features of sound: 16-bit samples at 16 kHz in, rows for models out.\n"
                        "  f = ethosu_audio.MicroFrontend()     # wake words; Mfcc(), LogMel()\n"
                        "  rows = array(\"f\", bytes(4 * 3 * f.values))\n"
                        "  n = f.process(samples, rows)         # n rows were written\n"
                        "  ring = ethosu_audio.Ring(4096)       # write() from an interrupt\n"
                        "  n = f.process(ring, rows)            # as many as fit and are available")

static const mp_rom_map_elem_t audio_globals_table[] = {
    {MP_ROM_QSTR(MP_QSTR___name__), MP_ROM_QSTR(MP_QSTR_ethosu_audio)},
    {MP_ROM_QSTR(MP_QSTR_MicroFrontend), MP_ROM_PTR(&audio_micro_type)},
    {MP_ROM_QSTR(MP_QSTR_Mfcc), MP_ROM_PTR(&audio_mfcc_type)},
    {MP_ROM_QSTR(MP_QSTR_LogMel), MP_ROM_PTR(&audio_log_mel_type)},
    {MP_ROM_QSTR(MP_QSTR_Ring), MP_ROM_PTR(&audio_ring_type)},
    {MP_ROM_QSTR(MP_QSTR_RATE), MP_ROM_INT(ETHOSU_AUDIO_RATE)},
    BINDING_DOC_ENTRY(module_doc)};
static MP_DEFINE_CONST_DICT(audio_globals, audio_globals_table);

const mp_obj_module_t ethosu_audio_module = {
    .base = {&mp_type_module},
    .globals = (mp_obj_dict_t *)&audio_globals,
};

MP_REGISTER_MODULE(MP_QSTR_ethosu_audio, ethosu_audio_module);
