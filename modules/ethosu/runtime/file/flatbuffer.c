// SPDX-License-Identifier: MIT
/** Bounded reader for FlatBuffers; see flatbuffer.h. */
#include "runtime/file/flatbuffer.h"

#include "runtime/file/checked.h"

/** Remember the first malformed position. */
static void mark_bad(struct flatbuffer *fb, uint32_t position)
{
    if (!fb->bad) {
        fb->bad = true;
        fb->bad_at = position;
    }
}

/** A table: a record whose fields may be absent. The absent table has position 0. */
struct fb_table {
    uint32_t vtable;
    uint32_t vtable_size; /**< bytes, all inside the file */
};

/** 16 bits at a checked address. */
static uint32_t fb_half(const uint8_t *at)
{
    uint16_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

uint32_t fb_u32(struct flatbuffer *fb, uint32_t position)
{
    if (position <= fb->size - 4) {
        return fb_known_u32(fb, position);
    }
    mark_bad(fb, position);
    return 0;
}

uint64_t fb_u64(struct flatbuffer *fb, uint32_t position)
{
    if (position <= fb->size - 8) {
        return fb_known_u32(fb, position) | (uint64_t)fb_known_u32(fb, position + 4) << 32;
    }
    mark_bad(fb, position);
    return 0;
}

static inline uint32_t follow(struct flatbuffer *fb, uint32_t position)
{
    uint32_t last = fb->size - 4;
    if (position <= last) {
        uint32_t offset = fb_known_u32(fb, position);
        if (offset <= last - position) {
            return position + offset;
        }
    }
    mark_bad(fb, position);
    return 0;
}

uint32_t fb_follow(struct flatbuffer *fb, uint32_t position)
{
    return follow(fb, position);
}

/** Open the table at the target of an offset. */
static inline struct fb_table open_table(struct flatbuffer *fb, uint32_t position)
{
    if (position == 0) {
        return (struct fb_table){0};
    }
    // The vtable may be before or after its table; a wrapped position is outside the file.
    uint32_t vtable = position - fb_known_u32(fb, position);
    if (vtable <= fb->size - 2) {
        uint32_t size = fb_half(fb->data + vtable);
        if (size <= fb->size - vtable) {
            return (struct fb_table){vtable, size};
        }
    }
    mark_bad(fb, vtable);
    return (struct fb_table){0};
}

uint32_t fb_u32_at(struct flatbuffer *fb, const struct fb_vector *vector, uint32_t index)
{
    if (index >= vector->count) {
        mark_bad(fb, vector->position);
        return 0;
    }
    return fb_known_u32(fb, vector->position + 4 * index);
}

uint64_t fb_u64_at(struct flatbuffer *fb, const struct fb_vector *vector, uint32_t index)
{
    if (index >= vector->count) {
        mark_bad(fb, vector->position);
        return 0;
    }
    return fb_u64(fb, vector->position + 8 * index);
}

static inline __attribute__((always_inline)) uint32_t element(struct flatbuffer *fb,
                                                              const struct fb_vector *vector,
                                                              uint32_t index)
{
    if (index >= vector->count) {
        mark_bad(fb, vector->position);
        return 0;
    }
    return follow(fb, vector->position + 4 * index);
}

uint32_t fb_element(struct flatbuffer *fb, const struct fb_vector *vector, uint32_t index)
{
    return element(fb, vector, index);
}

/** Write zeros for an absent or malformed field. */
static inline uint32_t *put_none(uint32_t kind, uint32_t *out)
{
    *out++ = 0;
    if (kind <= FB_KIND_LONG) {
        *out++ = 0;
    }
    return out;
}

/** Read a malformed field, or a byte near the end of the file. */
static __attribute__((noinline)) uint32_t *read_rare(struct flatbuffer *fb, uint32_t at,
                                                     uint32_t kind, uint32_t *out)
{
    if (kind == FB_KIND_BYTE && at < fb->size) {
        *out = fb->data[at];
        return out + 1;
    }
    mark_bad(fb, at);
    return put_none(kind, out);
}

void fb_read(struct flatbuffer *fb, uint32_t position, const struct fb_field *field, void *result)
{
    const struct fb_table table = open_table(fb, position);
    const uint8_t *const data = fb->data;
    const uint32_t last = fb->size - 4;
    const uint32_t slots = table.vtable_size & ~1u; // slots are even
    uint32_t *out = result;
    for (; field->slot != 0; field++) {
        const uint32_t kind = field->kind;
        const uint32_t slot = field->slot;
        const uint32_t offset = slot < slots ? fb_half(data + table.vtable + slot) : 0;
        uint32_t at = position + offset;
        uint32_t left; // bytes after the word there
        if (offset == 0) {
            out = put_none(kind, out);
            continue;
        }
        if (checked_sub(last, at, &left)) {
            const uint32_t value = fb_word(data + at);
            if (kind <= FB_KIND_LONGS) {
                if (checked_sub(left, value, &left)) { // the distance to the vector
                    at += value;
                    const uint32_t count = fb_word(data + at);
                    if (count <= left >> kind) {
                        out[0] = at + 4;
                        out[1] = count;
                        out += 2;
                        continue;
                    }
                }
            } else if (kind == FB_KIND_WORD) {
                *out++ = value;
                continue;
            } else if (kind == FB_KIND_BYTE) {
                *out++ = (uint8_t)value;
                continue;
            } else if (kind == FB_KIND_TABLE) {
                if (value <= left) {
                    *out++ = at + value;
                    continue;
                }
            } else if (left >= 4) {
                *out++ = value;
                *out++ = fb_word(data + at + 4);
                continue;
            }
        }
        out = read_rare(fb, at, kind, out);
    }
}

uint32_t fb_scalar(struct flatbuffer *fb, uint32_t position, struct fb_field field,
                   uint32_t fallback)
{
    const struct fb_table table = open_table(fb, position);
    const struct fb_field fields[] = {field, FB_END};
    if (field.slot + 2u <= table.vtable_size &&
        fb_half(fb->data + table.vtable + field.slot) != 0) {
        fb_read(fb, position, fields, &fallback);
    }
    return fallback;
}

struct fb_union fb_union_at(struct flatbuffer *fb, const struct fb_vector *vector, uint32_t index)
{
    static const struct fb_field fields[] = {FB_BYTE(0), FB_TABLE(1), FB_END};
    enum { TYPE_SLOT = 4, TABLE_SLOT = 6, SLOTS_END = 8 };
    const uint32_t position = element(fb, vector, index);
    const struct fb_table table = open_table(fb, position);
    struct fb_union member;
    if (table.vtable_size >=
        SLOTS_END) { // common case: both fields present, not near the end of the file
        const uint32_t last = fb->size - 4;
        uint32_t type = position + fb_half(fb->data + table.vtable + TYPE_SLOT);
        uint32_t at = position + fb_half(fb->data + table.vtable + TABLE_SLOT);
        if (type != position && at != position && type <= last && at <= last &&
            fb_known_u32(fb, at) <= last - at) {
            return (struct fb_union){fb->data[type], at + fb_known_u32(fb, at)};
        }
    }
    fb_read(fb, position, fields, &member);
    return member;
}

bool fb_same(const void *a, const void *b, uint32_t size)
{
    const uint8_t *one = a;
    const uint8_t *other = b;
    for (; size >= 4; size -= 4, one += 4, other += 4) {
        if (fb_word(one) != fb_word(other)) {
            return false;
        }
    }
    while (size > 0 && one[size - 1] == other[size - 1]) {
        size--;
    }
    return size == 0;
}
