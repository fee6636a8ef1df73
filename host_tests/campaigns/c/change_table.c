// SPDX-License-Identifier: MIT
/** See change_table.h. */
#include "change_table.h"

#include <string.h>

#define MOST_RANK 8u

uint32_t boundary(uint32_t old)
{
    static const uint32_t fixed[] = {
        0,          1,          2,          3,          4,          7,         8,
        15,         16,         127,        128,        255,        256,       511,
        512,        32767,      32768,      65535,      65536,      65537,     0x00FFFFFF,
        0x3FFFFFFF, 0x40000000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF};
    switch (draw(8)) {
    case 0:
    case 1:
        return old + 1;
    case 2:
    case 3:
        return old - 1;
    case 4:
        return draw(2) ? old * 2 : old / 2;
    case 5:
        return old ^ 1u << draw(32);
    case 6:
        return draw(4);
    default:
        return fixed[draw(sizeof fixed / sizeof fixed[0])];
    }
}

/** The bytes of the mutator, which may change them. */
static uint8_t *bytes(const struct flatbuffer *fb)
{
    return (uint8_t *)(uintptr_t)fb->data;
}

void set_word(struct flatbuffer *fb, uint32_t position)
{
    if (position == 0 || position > fb->size - 4) {
        return;
    }
    uint32_t value = boundary(fb_u32(fb, position));
    memcpy(bytes(fb) + position, &value, sizeof value);
}

void change_vector(struct flatbuffer *fb, const struct fb_vector *vector)
{
    if (vector->count == 0 || draw(6) == 0) {
        set_word(fb, vector->position < 4 ? 0 : vector->position - 4);
    } else {
        set_word(fb, vector->position + 4 * draw(vector->count));
    }
}

uint32_t get_table(struct flatbuffer *fb, uint32_t table, uint32_t field)
{
    const struct fb_field fields[] = {FB_TABLE(field), FB_END};
    uint32_t found;
    fb_read(fb, table, fields, &found);
    return found;
}

struct fb_vector get_vector(struct flatbuffer *fb, uint32_t table, uint32_t field, uint32_t bytes)
{
    const uint32_t kind = bytes == 8 ? FB_KIND_LONGS : bytes == 4 ? FB_KIND_WORDS : FB_KIND_BYTES;
    const struct fb_field fields[] = {FB_FIELD(field, kind), FB_END};
    struct fb_vector found;
    fb_read(fb, table, fields, &found);
    return found;
}

/** 16 bits, 0 outside of the buffer. */
static uint32_t half_at(const struct flatbuffer *fb, uint32_t at)
{
    return at < fb->size && fb->size - at >= 2 ? fb->data[at] | (uint32_t)fb->data[at + 1] << 8 : 0;
}

void change_field(struct flatbuffer *fb, uint32_t table)
{
    uint32_t vtable = table == 0 ? 0 : table - fb_known_u32(fb, table);
    uint32_t size = table == 0 ? 0 : half_at(fb, vtable);
    if (size < 6) {
        return;
    }
    uint32_t at = table + half_at(fb, vtable + 4 + 2 * draw((size - 4) / 2));
    if (at == table) {
        return;
    }
    if (draw(2) == 0) {
        set_word(fb, at);
    } else if (at < fb->size) {
        bytes(fb)[at] = (uint8_t)draw(256);
    }
}

uint32_t any_of(struct flatbuffer *fb, uint32_t table, uint32_t field)
{
    struct fb_vector vector = get_vector(fb, table, field, 4);
    return vector.count == 0 ? 0 : fb_element(fb, &vector, draw(vector.count));
}

void change_sizes(struct flatbuffer *fb, const struct fb_vector *sizes, uint32_t old,
                  uint32_t value)
{
    for (uint32_t k = 0; k < sizes->count && k < MOST_RANK; k++) {
        if (fb_u32_at(fb, sizes, k) == old && draw(8) != 0) {
            memcpy(bytes(fb) + sizes->position + 4 * k, &value, sizeof value);
        }
    }
}
