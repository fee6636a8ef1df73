// SPDX-License-Identifier: MIT
/**
 * A data file of ExecuTorch programs ("FlatTensor") with named data. Source of the layout:
 * extension/flat_tensor of pytorch/executorch 1.5.
 */
#ifndef DATA_FILE_H
#define DATA_FILE_H

#include "executorch/file/program.h"

/** Header field with the position of the segments' data in the file. */
enum { DATA_FILE_SEGMENTS_AT = 32 };

/** Open a data file as `program`, with its entries and segments; false if malformed. */
static inline bool data_file_open(struct program *program, const void *file, uint32_t size)
{
    // Segments and data by name; the tables below the root table are as in a program.
    static const struct fb_field root_fields[] = {FB_WORDS(1), FB_WORDS(2), FB_END};
    struct {
        struct fb_vector segments;
        struct fb_vector named;
    } root;
    struct flatbuffer *fb = &program->fb;
    if (size < DATA_FILE_SEGMENTS_AT + 8 || memcmp((const uint8_t *)file + 4, "FT01FH01", 8) != 0) {
        return false;
    }
    program_begin(program, file, size);
    fb_read(fb, fb_follow(fb, 0), root_fields, &root);
    program->root.segments = root.segments;
    program->root.named = root.named;
    uint64_t start = fb_u64(fb, DATA_FILE_SEGMENTS_AT);
    program->segments_start = (uint32_t)start;
    return start <= size;
}

/** Find data by name; false if not found, or if the file is malformed. */
bool data_file_find(const void *file, uint32_t size, struct program_bytes name,
                    struct program_bytes *data);

#endif
