// SPDX-License-Identifier: MIT
/** Kinds of model files; see ethosu_model.h. Keep in sync with tools/ethosu_tools/model/kinds.py.
 */
#include "runtime/file/flatbuffer.h"
#include "ethosu_model.h"

const struct ethosu_file_kind *ethosu_file_kind_of(const void *file, size_t size)
{
    static const struct ethosu_file_kind kinds[] = {
        {ETHOSU_FILE_TFLITE, "TFL3", ".tflite", ""},
        {ETHOSU_FILE_PROGRAM, "ET12", ".pte", ".ptd"},
        {ETHOSU_FILE_BUNDLE, "BP08", ".bpte", ".ptd"},
        {ETHOSU_FILE_DATA, "FT01", ".ptd", ""},
        {ETHOSU_FILE_OTHER, "", "", ""},
    };
    const struct ethosu_file_kind *kind = kinds;
    const uint32_t mark = size < 8 ? 0 : fb_word((const uint8_t *)file + 4);
    while (kind->number != ETHOSU_FILE_OTHER && mark != fb_word(kind->mark)) {
        kind++;
    }
    return kind;
}
