// SPDX-License-Identifier: MIT
/** Reads a data file of ExecuTorch programs; see data_file.h. */
#include "data_file.h"

#include <string.h>

/** Fields of the root table, by number; the tables below it are those of a program. */
enum root_field { ROOT_SEGMENTS = 1, ROOT_NAMED = 2 };

/** The header: where the segments' data is, in the file. */
enum header { HEADER_SEGMENTS_AT = 32 };

bool data_file_find(const void *file, uint32_t size, struct program_bytes name,
                    struct program_bytes *data)
{
    struct program program;
    struct flatbuffer *fb = &program.fb;
    if (size < HEADER_SEGMENTS_AT + 8 || memcmp((const uint8_t *)file + 4, "FT01FH01", 8) != 0) {
        return false;
    }
    program_begin(&program, file, size);
    program.segments = ROOT_SEGMENTS;
    program.named = ROOT_NAMED;
    program.root = fb_root(fb);
    uint64_t start = fb_u64(fb, HEADER_SEGMENTS_AT);
    program.segments_start = (uint32_t)start;
    return start <= size && program_get_named(&program, name, data);
}
