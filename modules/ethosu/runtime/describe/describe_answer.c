// SPDX-License-Identifier: MIT
/** What all descriptions of files have in common. */
#include "runtime/describe/describer.h"

_Static_assert(sizeof(struct reader) <= sizeof((struct ethosu_description){0}.reader), "reader");

/** Read budget per file, and per byte of it; files can refer to a table repeatedly. */
enum { MIN_READS = 65536, READS_PER_BYTE = 4 };

int describe_take(struct ethosu_description *description, uint64_t reads,
                  struct ethosu_model_error *error)
{
    if (reads > description->reads) {
        return error_set(error, ETHOSU_MODEL_BAD_FILE,
                         "it references its tables so often that reading would take too long");
    }
    description->reads -= reads;
    return ETHOSU_MODEL_OK;
}

int describe_damage(const struct flatbuffer *fb, struct ethosu_model_error *error)
{
    if (fb->bad_at < fb->size) {
        return error_set(error, ETHOSU_MODEL_BAD_FILE,
                         "damaged or truncated: the data at byte %u leads beyond its %u bytes",
                         (unsigned)fb->bad_at, (unsigned)fb->size);
    }
    return error_set(error, ETHOSU_MODEL_BAD_FILE,
                     "damaged or truncated: it has %u bytes, a table extends to byte %u or beyond",
                     (unsigned)fb->size, (unsigned)fb->bad_at);
}

int describe_list(struct ethosu_description *description, const struct flatbuffer *fb,
                  struct fb_vector list, uint32_t size, struct ethosu_describe_bytes *bytes,
                  struct ethosu_model_error *error)
{
    *bytes = (struct ethosu_describe_bytes){fb->data + list.position, size * list.count};
    return describe_take(description, list.count, error);
}

void describe_start(struct ethosu_description *description, const void *file, size_t size)
{
    memset(description, 0, sizeof *description);
    description->program = (struct ethosu_describe_bytes){file, (uint32_t)size};
    description->reads = MIN_READS + (uint64_t)READS_PER_BYTE * size;
    reader_of(description)->graph = UINT32_MAX;
}
