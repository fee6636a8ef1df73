// SPDX-License-Identifier: MIT
/**
 * Reads a FlexBuffers map. Format: FlexBuffers' "Internals" page. Offsets point
 * backwards, a vector's size precedes its elements and their types follow them,
 * and a map's keys are a separate vector.
 */
#include "runtime/kernels/shape/flexbuffer.h"

#include <stdbool.h>
#include <string.h>

/** Types of values, in the upper 6 bits of their type bytes. */
enum {
    TYPE_INT = 1,
    TYPE_UINT = 2,
    TYPE_FLOAT = 3,
    TYPE_INDIRECT_INT = 6,
    TYPE_INDIRECT_FLOAT = 8,
    TYPE_MAP = 9,
    TYPE_BOOL = 26,
};

struct flexbuffer {
    const uint8_t *data;
    uint32_t size;
    bool bad;
};

/** Bytes of a value, from its type byte. */
static uint32_t width_of(uint8_t type)
{
    return 1u << (type & 3);
}

static uint64_t read_bits(struct flexbuffer *flex, uint64_t position, uint32_t width)
{
    uint64_t bits = 0;
    if (width > sizeof bits || position > flex->size || width > flex->size - position) {
        flex->bad = true;
        return 0;
    }
    memcpy(&bits, flex->data + position, width);
    return bits;
}

/** The target of the offset at a position. */
static uint64_t follow(struct flexbuffer *flex, uint64_t position, uint32_t width)
{
    uint64_t offset = read_bits(flex, position, width);
    if (offset > position) {
        flex->bad = true;
        return 0;
    }
    return position - offset;
}

static double read_float(struct flexbuffer *flex, uint64_t position, uint32_t width)
{
    uint64_t bits = read_bits(flex, position, width);
    double wide = 0.0;
    float narrow = 0.0F;
    if (width == sizeof wide) {
        memcpy(&wide, &bits, sizeof wide);
        return wide;
    }
    flex->bad |= width != sizeof narrow;
    memcpy(&narrow, &bits, sizeof narrow);
    return (double)narrow;
}

static double read_number(struct flexbuffer *flex, uint64_t position, uint32_t width, uint8_t type)
{
    uint32_t kind = type >> 2;
    if (kind >= TYPE_INDIRECT_INT && kind <= TYPE_INDIRECT_FLOAT) {
        position = follow(flex, position, width);
        width = width_of(type);
        kind -= TYPE_INDIRECT_INT - TYPE_INT;
    }
    uint64_t bits = read_bits(flex, position, width);
    switch (kind) {
    case TYPE_INT: {
        uint32_t unused = 64 - 8 * width;
        return (double)((int64_t)(bits << unused) >> unused);
    }
    case TYPE_UINT:
    case TYPE_BOOL:
        return (double)bits;
    case TYPE_FLOAT:
        return read_float(flex, position, width);
    default:
        flex->bad = true;
        return 0.0;
    }
}

static bool is_key(struct flexbuffer *flex, uint64_t position, const char *key)
{
    size_t length = strlen(key) + 1;
    return position <= flex->size && length <= flex->size - position &&
           memcmp(flex->data + position, key, length) == 0;
}

double flexbuffer_number(const uint8_t *data, uint32_t size, const char *key, double fallback)
{
    struct flexbuffer flex = {data, size, size < 3};
    uint8_t root_width = flex.bad ? 0 : data[size - 1];
    uint8_t type = flex.bad ? 0 : data[size - 2];
    if (flex.bad || type >> 2 != TYPE_MAP || root_width > 8 || size < 2u + root_width) {
        return fallback;
    }
    uint32_t width = width_of(type);
    uint64_t map = follow(&flex, size - 2u - root_width, root_width);
    if (flex.bad || map < 3u * width) {
        return fallback;
    }
    uint64_t count = read_bits(&flex, map - width, width);
    uint32_t key_width = (uint32_t)read_bits(&flex, map - 2u * width, width);
    uint64_t keys = follow(&flex, map - 3u * width, width);
    for (uint64_t i = 0; i < count && i < flex.size && !flex.bad; i++) {
        if (is_key(&flex, follow(&flex, keys + i * key_width, key_width), key)) {
            uint8_t value_type = (uint8_t)read_bits(&flex, map + count * width + i, 1);
            double value = read_number(&flex, map + i * width, width, value_type);
            return flex.bad ? fallback : value;
        }
    }
    return fallback;
}
