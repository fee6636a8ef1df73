// SPDX-License-Identifier: MIT
/** Access to the rows of feature maps: tiles, NHWC and NHCWB16, element types. */
#include "feature_map.h"

#include <string.h>

#include "clones.h"
#include "npu_internal.h"

enum { BRICK = 16 };

/** Pixels of one row that lie in one tile, as pieces of equal shape. */
struct segment {
    uint8_t *memory;     /**< element (x, channel 0) */
    int64_t pixel_step;  /**< bytes from pixel to pixel */
    int64_t brick_step;  /**< NHCWB16: bytes from brick to brick */
    uint32_t pixels;
};

int64_t npu_map_minimum(const struct npu_feature_map *map)
{
    return map->is_signed ? -((int64_t)1 << (map->bits - 1)) : 0;
}

int64_t npu_map_maximum(const struct npu_feature_map *map)
{
    return ((int64_t)1 << (map->bits - (map->is_signed ? 1 : 0))) - 1;
}

bool npu_map_fits_16(const struct npu_feature_map *map)
{
    return npu_map_minimum(map) - map->zero_point >= INT16_MIN &&
           npu_map_maximum(map) - map->zero_point <= INT16_MAX;
}

static int64_t minimum(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t maximum(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/** Bytes around an element that an access of some rows and pixels from it on touches. */
struct extent {
    int64_t low, high;
};

static void extend(struct extent *extent, int64_t steps, int64_t stride)
{
    extent->low += minimum(0, steps * stride);
    extent->high += maximum(0, steps * stride);
}

static struct extent extent_of(const struct npu_feature_map *map, uint32_t rows, uint32_t pixels)
{
    uint32_t run = map->nhcwb16 && map->depth > BRICK ? BRICK : map->depth;
    struct extent extent = {0, (int64_t)run * (map->bits / 8)};
    extend(&extent, rows - 1, map->stride_y);
    extend(&extent, pixels - 1, map->stride_x);
    if (map->nhcwb16) {
        extend(&extent, (map->depth - 1) / BRICK, map->stride_c);
    }
    return extent;
}

void npu_map_tile(struct npu *npu, enum npu_channel channel, const struct npu_feature_map *map)
{
    uint32_t rows = map->height < map->height0 ? map->height : map->height0;
    uint32_t pixels = map->width < map->width0 ? map->width : map->width0;
    struct extent extent = extent_of(map, rows, pixels);
    npu_map_ahead(npu, channel, map->region, map->base[0] + extent.low,
                  (uint64_t)(extent.high - extent.low));
}

/** Map the pixels of row y from x on that lie in the tile of x. */
static bool open_segment(struct npu *npu, enum npu_channel channel,
                         const struct npu_feature_map *map, uint32_t y, uint32_t x, uint32_t count,
                         struct segment *segment)
{
    bool right = x >= map->width0;
    uint32_t tile_height = right ? map->height1 : map->height0;
    bool lower = y >= tile_height;
    uint32_t pixels = right || count <= map->width0 - x ? count : map->width0 - x;
    int64_t start = map->base[(lower ? 2 : 0) + (right ? 1 : 0)] +
                    (int64_t)(lower ? y - tile_height : y) * map->stride_y +
                    (int64_t)(right ? x - map->width0 : x) * map->stride_x;
    struct extent extent = extent_of(map, 1, pixels);
    uint8_t *memory = npu_map(npu, channel, map->region, start + extent.low,
                              (uint64_t)(extent.high - extent.low));
    if (memory == NULL) {
        return false;
    }
    npu_count_bytes(npu, channel, map->region, (uint64_t)pixels * map->depth * (map->bits / 8u));
    *segment = (struct segment){memory - extent.low, map->stride_x, map->stride_c, pixels};
    return true;
}

/* Conversion of runs of elements; the compiler makes vectors of these. */

#define LOADER(name, source, target)                                                        \
    NPU_CLONES static void name(void *restrict out, const uint8_t *restrict in, size_t count, int32_t zero) \
    {                                                                                       \
        target *restrict values = out;                                                      \
        for (size_t i = 0; i < count; i++) {                                                \
            source element;                                                                 \
            memcpy(&element, in + i * sizeof element, sizeof element);                      \
            values[i] = (target)((uint32_t)element - (uint32_t)zero);                       \
        }                                                                                   \
    }

typedef void (*loader_t)(void *restrict out, const uint8_t *restrict in, size_t count,
                         int32_t zero);

LOADER(load_u8_16, uint8_t, int16_t)
LOADER(load_s8_16, int8_t, int16_t)
LOADER(load_u16_16, uint16_t, int16_t)
LOADER(load_s16_16, int16_t, int16_t)
LOADER(load_u8_32, uint8_t, int32_t)
LOADER(load_s8_32, int8_t, int32_t)
LOADER(load_u16_32, uint16_t, int32_t)
LOADER(load_s16_32, int16_t, int32_t)
LOADER(load_s32_32, int32_t, int32_t)

static loader_t find_loader(const struct npu_feature_map *map, size_t target_size)
{
    bool narrow = target_size == sizeof(int16_t);
    switch (map->bits) {
    case 8:
        return map->is_signed ? (narrow ? load_s8_16 : load_s8_32)
                              : (narrow ? load_u8_16 : load_u8_32);
    case 16:
        return map->is_signed ? (narrow ? load_s16_16 : load_s16_32)
                              : (narrow ? load_u16_16 : load_u16_32);
    default:
        return load_s32_32;
    }
}

static void load_segment(const struct npu_feature_map *map, const struct segment *segment,
                         loader_t load, uint8_t *out, size_t target_size)
{
    size_t element = map->bits / 8u;
    size_t depth = map->depth;
    if (!map->nhcwb16 && segment->pixel_step == (int64_t)(depth * element)) {
        load(out, segment->memory, segment->pixels * depth, map->zero_point);
        return;
    }
    size_t run = map->nhcwb16 ? BRICK : depth;
    for (size_t c = 0; c < depth; c += run) {
        size_t channels = depth - c < run ? depth - c : run;
        const uint8_t *brick = segment->memory + (int64_t)(c / run) * segment->brick_step;
        for (size_t x = 0; x < segment->pixels; x++) {
            load(out + (x * depth + c) * target_size, brick + (int64_t)x * segment->pixel_step,
                 channels, map->zero_point);
        }
    }
}

static bool read_row(struct npu *npu, const struct npu_feature_map *map, uint32_t y, void *out,
                     size_t target_size)
{
    loader_t load = find_loader(map, target_size);
    for (uint32_t x = 0; x < map->width;) {
        struct segment segment;
        if (!open_segment(npu, NPU_READ_IFM, map, y, x, map->width - x, &segment)) {
            return false;
        }
        load_segment(map, &segment, load, (uint8_t *)out + (size_t)x * map->depth * target_size,
                     target_size);
        x += segment.pixels;
    }
    return true;
}

bool npu_read_row_16(struct npu *npu, const struct npu_feature_map *map, uint32_t y, int16_t *out)
{
    return read_row(npu, map, y, out, sizeof *out);
}

bool npu_read_row_32(struct npu *npu, const struct npu_feature_map *map, uint32_t y, int32_t *out)
{
    return read_row(npu, map, y, out, sizeof *out);
}

NPU_CLONES static void store(uint8_t *restrict out, const int32_t *restrict values, size_t count,
                  size_t element)
{
    if (element == 1) {
        for (size_t i = 0; i < count; i++) {
            out[i] = (uint8_t)values[i];
        }
    } else if (element == 2) {
        for (size_t i = 0; i < count; i++) {
            uint16_t value = (uint16_t)values[i];
            memcpy(out + 2 * i, &value, sizeof value);
        }
    } else {
        memcpy(out, values, count * sizeof *values);
    }
}

static void store_segment(const struct npu_feature_map *map, const struct segment *segment,
                          const int32_t *values)
{
    size_t element = map->bits / 8u;
    size_t depth = map->depth;
    if (!map->nhcwb16 && segment->pixel_step == (int64_t)(depth * element)) {
        store(segment->memory, values, segment->pixels * depth, element);
        return;
    }
    size_t run = map->nhcwb16 ? BRICK : depth;
    for (size_t c = 0; c < depth; c += run) {
        size_t channels = depth - c < run ? depth - c : run;
        uint8_t *brick = segment->memory + (int64_t)(c / run) * segment->brick_step;
        for (size_t x = 0; x < segment->pixels; x++) {
            store(brick + (int64_t)x * segment->pixel_step, values + x * depth + c, channels,
                  element);
        }
    }
}

bool npu_write_pixels(struct npu *npu, const struct npu_feature_map *map, uint32_t y, uint32_t x,
                      uint32_t count, const int32_t *values)
{
    while (count > 0) {
        struct segment segment;
        if (!open_segment(npu, NPU_WRITE_OFM, map, y, x, count, &segment)) {
            return false;
        }
        store_segment(map, &segment, values);
        values += (size_t)segment.pixels * map->depth;
        x += segment.pixels;
        count -= segment.pixels;
    }
    return true;
}
