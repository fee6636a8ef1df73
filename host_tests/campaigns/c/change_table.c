// SPDX-License-Identifier: MIT
/** See change_table.h. */
#include "change_table.h"

#include <string.h>

#define MOST_RANK 8u

static uint32_t state;

void draw_from(unsigned seed)
{
    state = seed;
}

uint32_t draw(uint32_t below)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % below;
}

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

void change_field(struct flatbuffer *fb, const struct fb_table *table)
{
    if (table->position == 0 || table->vtable_size < 6) {
        return;
    }
    uint32_t entry = table->vtable + 4 + 2 * draw((table->vtable_size - 4) / 2);
    uint32_t offset = (uint32_t)fb_u8(fb, entry) | (uint32_t)fb_u8(fb, entry + 1) << 8;
    if (offset == 0) {
        return;
    }
    if (draw(2) == 0) {
        set_word(fb, table->position + offset);
    } else if (table->position + offset < fb->size) {
        bytes(fb)[table->position + offset] = (uint8_t)draw(256);
    }
}

struct fb_table any_of(struct flatbuffer *fb, const struct fb_table *table, uint32_t field)
{
    struct fb_vector vector = fb_get_vector(fb, table, field, 4);
    return vector.count == 0 ? (struct fb_table){0} : fb_table_at(fb, &vector, draw(vector.count));
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
