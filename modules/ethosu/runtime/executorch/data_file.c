// SPDX-License-Identifier: MIT
/** Reads a data file of ExecuTorch programs; see data_file.h. */
#include "data_file.h"

#include <string.h>

/** Segments and data by name; the tables below the root table are those of a program. */
static const struct fb_field root_fields[] = {FB_WORDS(1), FB_WORDS(2), FB_END};
struct root_table {
    struct fb_vector segments;
    struct fb_vector named;
};

/** The header: where the segments' data is, in the file. */
enum header { HEADER_SEGMENTS_AT = 32 };

bool data_file_find(const void *file, uint32_t size, struct program_bytes name,
                    struct program_bytes *data)
{
    struct program program;
    struct root_table root;
    struct flatbuffer *fb = &program.fb;
    if (size < HEADER_SEGMENTS_AT + 8 || memcmp((const uint8_t *)file + 4, "FT01FH01", 8) != 0) {
        return false;
    }
    program_begin(&program, file, size);
    fb_read(fb, fb_follow(fb, 0), root_fields, &root);
    program.root.segments = root.segments;
    program.root.named = root.named;
    uint64_t start = fb_u64(fb, HEADER_SEGMENTS_AT);
    program.segments_start = (uint32_t)start;
    return start <= size && program_get_named(&program, name, data);
}
