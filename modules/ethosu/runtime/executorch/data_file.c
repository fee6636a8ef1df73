// SPDX-License-Identifier: MIT
/** Reads a data file of ExecuTorch programs; see data_file.h. */
#include "data_file.h"

#include <string.h>

#include "checked.h"

/** Fields of the tables, by number. */
enum root_field { ROOT_SEGMENTS = 1, ROOT_NAMED = 2 };
enum segment_field { SEGMENT_OFFSET = 0, SEGMENT_SIZE = 1 };
enum named_field { NAMED_KEY = 0, NAMED_SEGMENT = 1 };

/** The header: where the segments' data is, in the file. */
enum header { HEADER_SEGMENTS_AT = 32 };

/** Where a segment of the file is. */
static bool get_segment(struct flatbuffer *fb, const struct fb_table *root, uint32_t index,
                        struct program_bytes *data)
{
    struct fb_vector segments = fb_get_vector(fb, root, ROOT_SEGMENTS, 4);
    struct fb_table segment = fb_table_at(fb, &segments, index);
    uint64_t start = fb_u64(fb, HEADER_SEGMENTS_AT);
    uint64_t offset = fb_get_u64(fb, &segment, SEGMENT_OFFSET, 0);
    uint64_t size = fb_get_u64(fb, &segment, SEGMENT_SIZE, 0);
    if (fb->bad || start > fb->size || !checked_range(offset, size, fb->size - start)) {
        return false;
    }
    *data = (struct program_bytes){fb->data + start + offset, (uint32_t)size};
    return true;
}

bool data_file_find(const void *file, uint32_t size, struct program_bytes name,
                    struct program_bytes *data)
{
    struct flatbuffer fb = {.data = file, .size = size};
    if (size < HEADER_SEGMENTS_AT + 8 || memcmp(fb.data + 4, "FT01FH01", 8) != 0) {
        return false;
    }
    struct fb_table root = fb_root(&fb);
    struct fb_vector list = fb_get_vector(&fb, &root, ROOT_NAMED, 4);
    for (uint32_t i = 0; i < list.count && !fb.bad; i++) {
        struct fb_table entry = fb_table_at(&fb, &list, i);
        struct fb_vector key = fb_get_vector(&fb, &entry, NAMED_KEY, 1);
        if (!fb.bad && key.count == name.size &&
            memcmp(fb.data + key.position, name.data, name.size) == 0) {
            return get_segment(&fb, &root, fb_get_u32(&fb, &entry, NAMED_SEGMENT, 0), data);
        }
    }
    return false;
}
