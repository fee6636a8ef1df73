// SPDX-License-Identifier: MIT
/** Python class `ethosu_audio.Ring`: samples on their way from an interrupt or a stream. */
#include "binding/media/audio.h"

#include <string.h>

#include "binding/call/arguments.h"
#include "py/binary.h"
#include "py/objarray.h"
#include "py/runtime.h"

struct audio_samples audio_get_samples(mp_obj_t object, mp_uint_t flags, const char *what)
{
    mp_buffer_info_t buffer;
    binding_get_memory(object, &buffer, flags, what);
    bool bytes = buffer.typecode == 'B' || buffer.typecode == BYTEARRAY_TYPECODE;
    if (!bytes && buffer.typecode != 'h') {
        mp_raise_msg_varg(&mp_type_TypeError,
                          MP_ERROR_TEXT("%s has typecode '%c', expected 'h' (int16), "
                                        "or its bytes"),
                          what, buffer.typecode);
    }
    if (buffer.len % sizeof(int16_t) != 0 || (uintptr_t)buffer.buf % sizeof(int16_t) != 0) {
        mp_raise_msg_varg(&mp_type_ValueError,
                          MP_ERROR_TEXT("%s: %d bytes at 0x%x, expected an even number at an even "
                                        "address (int16)"),
                          what, (int)buffer.len, (unsigned)(uintptr_t)buffer.buf);
    }
    return (struct audio_samples){buffer.buf, buffer.len / sizeof(int16_t)};
}

/** Maximum size of a ring in samples: two minutes of audio. */
#define MAX_SAMPLES (1 << 21)

typedef struct {
    mp_obj_base_t base;
    struct ethosu_audio_ring ring;
    mp_obj_array_t *view; /**< argument of a stream's readinto(), created once */
    size_t odd;           /**< bytes of half a sample that a stream gave, 0 or 1 */
} ring_obj_t;

struct ethosu_audio_ring *audio_ring_of(mp_obj_t object)
{
    return mp_obj_is_type(object, &audio_ring_type) ? &((ring_obj_t *)MP_OBJ_TO_PTR(object))->ring
                                                    : NULL;
}

/** Ring(size): room for `size` samples, rounded up to a power of two. */
static mp_obj_t ring_make_new(const mp_obj_type_t *type, size_t n_args, size_t n_kw,
                              const mp_obj_t *args)
{
    mp_arg_check_num(n_args, n_kw, 1, 1, false);
    mp_int_t requested = mp_obj_get_int(args[0]);
    if (requested < 1 || requested > MAX_SAMPLES) {
        mp_raise_msg_varg(&mp_type_ValueError, MP_ERROR_TEXT("size is %d, expected 1 to %d"),
                          (int)requested, MAX_SAMPLES);
    }
    uint32_t size = 1;
    while (size < (uint32_t)requested) {
        size *= 2;
    }
    ring_obj_t *self = mp_obj_malloc(ring_obj_t, type);
    self->view = m_new_obj(mp_obj_array_t);
    self->odd = 0;
    self->ring = (struct ethosu_audio_ring){.samples = m_new(int16_t, size), .size = size};
    return MP_OBJ_FROM_PTR(self);
}

/** write(samples): also from an interrupt; returns the number of samples that fit. */
static mp_obj_t ring_write(mp_obj_t self_in, mp_obj_t object)
{
    ring_obj_t *self = MP_OBJ_TO_PTR(self_in);
    struct audio_samples samples = audio_get_samples(object, MP_BUFFER_READ, "samples");
    uint32_t lost = self->ring.lost;
    ethosu_audio_ring_write(&self->ring, samples.data, samples.count);
    return mp_obj_new_int_from_uint(samples.count - (self->ring.lost - lost));
}
static MP_DEFINE_CONST_FUN_OBJ_2(ring_write_obj, ring_write);

/** Bytes that the stream's readinto() writes to the next `bytes` bytes of the ring. */
static size_t read_stream(ring_obj_t *self, mp_obj_t *method, size_t bytes, size_t at)
{
    mp_obj_memoryview_init(self->view, 'B' | MP_OBJ_ARRAY_TYPECODE_FLAG_RW, at, bytes,
                           self->ring.samples);
    method[2] = MP_OBJ_FROM_PTR(self->view);
    mp_obj_t result = mp_call_method_n_kw(1, 0, method);
    mp_int_t count =
        result == mp_const_none ? 0 : mp_obj_get_int(result); // None: no data available yet
    if (count < 0 || (size_t)count > bytes) {
        mp_raise_msg_varg(&mp_type_ValueError,
                          MP_ERROR_TEXT("the stream's readinto() returned %d, expected 0 to %d"),
                          (int)count, (int)bytes);
    }
    return (size_t)count;
}

/** fill(stream, most=room): read samples from any object with readinto(); returns their number. */
static mp_obj_t ring_fill(size_t n_args, const mp_obj_t *args)
{
    ring_obj_t *self = MP_OBJ_TO_PTR(args[0]);
    mp_int_t most = n_args > 2 ? mp_obj_get_int(args[2]) : MAX_SAMPLES;
    if (most < 0) {
        mp_raise_msg_varg(&mp_type_ValueError, MP_ERROR_TEXT("most is %d, expected 0 or more"),
                          (int)most);
    }
    mp_obj_t method[3];
    mp_load_method(args[1], MP_QSTR_readinto, method);
    size_t filled = 0;
    while (filled < (size_t)most) {
        int16_t *place;
        size_t room = ethosu_audio_ring_room(&self->ring, &place);
        room = MIN(room, (size_t)most - filled) * sizeof(int16_t);
        if (room == 0) {
            break;
        }
        size_t start = (size_t)(place - self->ring.samples) * sizeof(int16_t) + self->odd;
        size_t count = self->odd + read_stream(self, method, room - self->odd, start);
        ethosu_audio_ring_wrote(&self->ring, (uint32_t)(count / sizeof(int16_t)));
        self->odd = count % sizeof(int16_t);
        filled += count / sizeof(int16_t);
        if (count < room) {
            break; // no more data available now
        }
    }
    return mp_obj_new_int_from_uint(filled);
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(ring_fill_obj, 2, 3, ring_fill);

/** readinto(buffer): the oldest samples; returns the number of bytes. */
static mp_obj_t ring_readinto(mp_obj_t self_in, mp_obj_t object)
{
    ring_obj_t *self = MP_OBJ_TO_PTR(self_in);
    struct audio_samples into = audio_get_samples(object, MP_BUFFER_WRITE, "buffer");
    size_t done = 0;
    const int16_t *piece;
    uint32_t count;
    while (done < into.count && (count = ethosu_audio_ring_piece(&self->ring, &piece)) > 0) {
        count = (uint32_t)MIN(count, into.count - done);
        memcpy(into.data + done, piece, count * sizeof(int16_t));
        ethosu_audio_ring_took(&self->ring, count);
        done += count;
    }
    return mp_obj_new_int_from_uint(done * sizeof(int16_t));
}
static MP_DEFINE_CONST_FUN_OBJ_2(ring_readinto_obj, ring_readinto);

/** any(): number of samples available. */
static mp_obj_t ring_any(mp_obj_t self_in)
{
    return mp_obj_new_int_from_uint(ethosu_audio_ring_count(audio_ring_of(self_in)));
}
static MP_DEFINE_CONST_FUN_OBJ_1(ring_any_obj, ring_any);

static void ring_attribute(mp_obj_t self_in, qstr name, mp_obj_t *destination)
{
    const struct ethosu_audio_ring *ring = audio_ring_of(self_in);
    if (destination[0] != MP_OBJ_NULL) {
        return; // read-only
    }
    if (name == MP_QSTR_size) {
        destination[0] = mp_obj_new_int_from_uint(ring->size);
    } else if (name == MP_QSTR_lost) {
        destination[0] = mp_obj_new_int_from_uint(ring->lost);
    } else if (name == MP_QSTR_overruns) {
        destination[0] = mp_obj_new_int_from_uint(ring->overruns);
    } else {
        destination[1] = MP_OBJ_SENTINEL; // a method
    }
}

static void ring_print(const mp_print_t *print, mp_obj_t self_in, mp_print_kind_t kind)
{
    (void)kind;
    const struct ethosu_audio_ring *ring = audio_ring_of(self_in);
    mp_printf(print, "<Ring: %u of %u samples, %u lost in %u overruns>",
              (unsigned)ethosu_audio_ring_count(ring), (unsigned)ring->size, (unsigned)ring->lost,
              (unsigned)ring->overruns);
}

static const mp_rom_map_elem_t ring_locals_table[] = {
    {MP_ROM_QSTR(MP_QSTR_any), MP_ROM_PTR(&ring_any_obj)},
    {MP_ROM_QSTR(MP_QSTR_fill), MP_ROM_PTR(&ring_fill_obj)},
    {MP_ROM_QSTR(MP_QSTR_readinto), MP_ROM_PTR(&ring_readinto_obj)},
    {MP_ROM_QSTR(MP_QSTR_write), MP_ROM_PTR(&ring_write_obj)},
};
static MP_DEFINE_CONST_DICT(ring_locals, ring_locals_table);

// clang-format off
MP_DEFINE_CONST_OBJ_TYPE(
    audio_ring_type, MP_QSTR_Ring, MP_TYPE_FLAG_NONE,
    make_new, ring_make_new,
    print, ring_print,
    attr, ring_attribute,
    locals_dict, &ring_locals
);
// clang-format on
