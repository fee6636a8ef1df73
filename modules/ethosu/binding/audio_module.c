// SPDX-License-Identifier: MIT
/** Python module `ethosu_audio`: from sound to what models take. */
#include "audio.h"

#include "arguments.h"
#include "doc.h"
#include "py/binary.h"
#include "py/runtime.h"

struct audio_samples audio_get_samples(mp_obj_t object, mp_uint_t flags, const char *what)
{
    mp_buffer_info_t buffer;
    binding_get_buffer(object, &buffer, flags, what);
    bool bytes = buffer.typecode == 'B' || buffer.typecode == BYTEARRAY_TYPECODE;
    if (!bytes && buffer.typecode != 'h') {
        mp_raise_msg_varg(&mp_type_TypeError,
                          MP_ERROR_TEXT("%s has typecode '%c', 'h' expected (int16), "
                                        "or its bytes"),
                          what, buffer.typecode);
    }
    if (buffer.len % sizeof(int16_t) != 0 || (uintptr_t)buffer.buf % sizeof(int16_t) != 0) {
        mp_raise_msg_varg(&mp_type_ValueError,
                          MP_ERROR_TEXT("%s: %d bytes at 0x%x given, an even number at an even "
                                        "address expected (int16)"),
                          what, (int)buffer.len, (unsigned)(uintptr_t)buffer.buf);
    }
    return (struct audio_samples){buffer.buf, buffer.len / sizeof(int16_t)};
}

BINDING_DOC(module_doc, "Features of sound: 16-bit samples at 16 kHz in, rows for models out.\n"
                        "  f = ethosu_audio.MicroFrontend()     # wake words; Mfcc(), LogMel()\n"
                        "  rows = array(\"f\", bytes(4 * 3 * f.values))\n"
                        "  n = f.process(samples, rows)         # n rows were written\n"
                        "  ring = ethosu_audio.Ring(4096)       # write() from an interrupt\n"
                        "  n = f.process(ring, rows)            # as many as fit and are there")

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
