// SPDX-License-Identifier: MIT
/**
 * Bounded reader for FlatBuffers, the encoding of model files.
 *
 * Every read is checked against the end of the file. A read beyond it returns 0
 * and sets `bad`, which stays set, so a parser can check `bad` once per object. Little-endian hosts
 * only. Format: FlatBuffers' "Internals" page.
 */
#ifndef FLATBUFFER_H
#define FLATBUFFER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/** A file in memory. */
struct flatbuffer {
    const uint8_t *data;
    uint32_t size;   /**< bytes, from 8 to 2^31 - 1 */
    bool bad;        /**< a read was malformed */
    uint32_t bad_at; /**< byte offset of the first malformed read */
};

/** A vector of `count` elements; the absent vector has count 0 and position 0. */
struct fb_vector {
    uint32_t position; /**< of the first element */
    uint32_t count;
};

/** A 64-bit number. */
struct fb_long {
    uint32_t low;
    uint32_t high;
};

static inline uint64_t fb_long_value(struct fb_long number)
{
    return number.low | (uint64_t)number.high << 32;
}

/** Kinds of fields; for a vector, log2 of the element size in bytes. */
enum fb_kind {
    FB_KIND_BYTES = 0,
    FB_KIND_WORDS = 2,
    FB_KIND_LONGS = 3,
    FB_KIND_LONG, /**< this kind and those before it take two words of the result */
    FB_KIND_WORD,
    FB_KIND_BYTE,
    FB_KIND_TABLE
};

/** A field for fb_read(): its position in the vtable and its kind. */
struct fb_field {
    uint8_t slot;
    uint8_t kind;
};

#define FB_FIELD(number, kind) {4 + 2 * (number), kind}
#define FB_BYTE(number) FB_FIELD(number, FB_KIND_BYTE)   /**< uint32_t */
#define FB_WORD(number) FB_FIELD(number, FB_KIND_WORD)   /**< uint32_t */
#define FB_LONG(number) FB_FIELD(number, FB_KIND_LONG)   /**< struct fb_long */
#define FB_TABLE(number) FB_FIELD(number, FB_KIND_TABLE) /**< uint32_t: its position */
#define FB_BYTES(number) FB_FIELD(number, FB_KIND_BYTES) /**< struct fb_vector: of bytes, text */
#define FB_WORDS(number) FB_FIELD(number, FB_KIND_WORDS) /**< of 32 bits each, or of tables */
#define FB_LONGS(number) FB_FIELD(number, FB_KIND_LONGS) /**< of 64 bits each */

#define FB_END {0, 0} /**< end of a list */

/**
 * Read a list of fields of a table. `table` is a position returned by one of these functions, or 0
 * if the table is absent. `result` is a structure with a member for each field, in this order.
 * Members are 0 for absent or malformed fields.
 */
void fb_read(struct flatbuffer *fb, uint32_t table, const struct fb_field *field, void *result);

/** Target of the forward offset stored at `position`, with at least 4 bytes in the file, or 0. */
uint32_t fb_follow(struct flatbuffer *fb, uint32_t position);

/** Position of a table in a vector of tables; marks the reader bad if out of range. */
uint32_t fb_element(struct flatbuffer *fb, const struct fb_vector *vector, uint32_t index);

/** 32 bits at a checked address. */
static inline uint32_t fb_word(const void *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

/** 32 bits at a checked position, for example of a vector element. */
static inline uint32_t fb_known_u32(const struct flatbuffer *fb, uint32_t position)
{
    return fb_word(fb->data + position);
}

/** Do the four bytes at `at` equal `mark`? */
static inline bool fb_is_mark(const uint8_t *at, const char mark[4])
{
    uint32_t found;
    uint32_t expected;
    memcpy(&found, at, sizeof found);
    memcpy(&expected, mark, sizeof expected);
    return found == expected;
}

uint32_t fb_u32(struct flatbuffer *fb, uint32_t position);
uint64_t fb_u64(struct flatbuffer *fb, uint32_t position);

/** Value of a byte or word field, or `fallback` if it is absent. */
uint32_t fb_scalar(struct flatbuffer *fb, uint32_t table, struct fb_field field, uint32_t fallback);

/** Type and table of a union, stored as fields 0 and 1 of a separate table. */
struct fb_union {
    uint32_t type;
    uint32_t table; /**< its position */
};

/** Read the union in element `index` of a vector of tables. */
struct fb_union fb_union_at(struct flatbuffer *fb, const struct fb_vector *vector, uint32_t index);

/** Are `size` bytes equal? Faster than memcmp() in small C libraries. */
bool fb_same(const void *a, const void *b, uint32_t size);

/** Element `index` of a vector of 32-bit values; marks the reader bad if out of range. */
uint32_t fb_u32_at(struct flatbuffer *fb, const struct fb_vector *vector, uint32_t index);

/** The same for a vector of 64-bit values. */
uint64_t fb_u64_at(struct flatbuffer *fb, const struct fb_vector *vector, uint32_t index);

#endif
