// SPDX-License-Identifier: MIT
/** Access to the rows of feature maps: tiles, NHWC and NHCWB16, element types.
 */
#include "memory/feature_map.h"

#include <string.h>

#include "core/clones.h"
#include "core/npu_internal.h"

enum { BRICK = NPU_BRICK };

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

int64_t npu_map_largest(const struct npu_feature_map *map)
{
    return maximum(map->zero_point - npu_map_minimum(map), npu_map_maximum(map) - map->zero_point);
}

/** Bytes touched around an element by an access to some rows and pixels from it on. */
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

/** Allocate a chaining buffer that is written. */
static bool open_chain(struct npu *npu, const struct npu_feature_map *map)
{
    size_t pixels = (size_t)map->height * map->width;
    npu->run.chain[map->region] = (struct npu_chain){pixels * map->depth, map->bits};
    return npu_scratch_get(npu, NPU_BUFFER_CHAIN0 + map->region, pixels,
                           (size_t)map->depth * (map->bits / 8)) != NULL;
}

/** Host memory of a map of one tile that npu_map_open() could map; else NULL. */
static const uint8_t *whole_map(const struct npu *npu, enum npu_channel channel,
                                const struct npu_feature_map *map, size_t *length)
{
    if (!map->used || map->height > map->height0 || map->width > map->width0) {
        return NULL;
    }
    struct extent extent = extent_of(map, map->height, map->width);
    *length = (size_t)(extent.high - extent.low);
    if (map->chained) {
        return npu->scratch.memory[NPU_BUFFER_CHAIN0 + map->region];
    }
    return npu_mapped_ahead(npu, channel, map, map->base[0] + extent.low);
}

bool npu_maps_apart(const struct npu *npu, const struct npu_feature_map *ifm,
                    const struct npu_feature_map *ofm)
{
    size_t read, written;
    const uint8_t *from = whole_map(npu, NPU_READ_IFM, ifm, &read);
    const uint8_t *to = whole_map(npu, NPU_WRITE_OFM, ofm, &written);
    struct extent row = extent_of(ofm, 1, ofm->width);
    int64_t step = ofm->stride_y < 0 ? -ofm->stride_y : ofm->stride_y;
    return row.high - row.low <= step && from != NULL && to != NULL &&
           ((uintptr_t)from + read <= (uintptr_t)to || (uintptr_t)to + written <= (uintptr_t)from);
}

bool npu_map_open(struct npu *npu, enum npu_channel channel, const struct npu_feature_map *map)
{
    if (!map->used) {
        return true;
    }
    if (map->chained) {
        return !npu_channel_writes(channel) || open_chain(npu, map);
    }
    uint32_t rows = map->height < map->height0 ? map->height : map->height0;
    uint32_t pixels = map->width < map->width0 ? map->width : map->width0;
    struct extent extent = extent_of(map, rows, pixels);
    npu_map_ahead(npu, channel, map, map->base[0] + extent.low,
                  (uint64_t)(extent.high - extent.low));
    return true;
}

/** Host memory of pixels from start on; inside: they are in the first tile of the map. */
static uint8_t *map_pixels(struct npu *npu, enum npu_channel channel,
                           const struct npu_feature_map *map, int64_t start, uint32_t pixels,
                           bool inside)
{
    if (map->chained) {
        return (uint8_t *)npu->scratch.memory[NPU_BUFFER_CHAIN0 + map->region] + start;
    }
    uint8_t *memory = inside ? npu_mapped_ahead(npu, channel, map, start) : NULL;
    if (memory != NULL) {
        return memory;
    }
    struct extent extent = extent_of(map, 1, pixels);
    memory = npu_map(npu, channel, map->region, start + extent.low,
                     (uint64_t)(extent.high - extent.low));
    return memory == NULL ? NULL : memory - extent.low;
}

/** Open the pixels of row y from x on that are in the same tile as x. */
static bool open_span(struct npu *npu, enum npu_channel channel, const struct npu_feature_map *map,
                      uint32_t y, uint32_t x, uint32_t count, struct npu_span *span)
{
    bool right = x >= map->width0;
    uint32_t tile_height = right ? map->height1 : map->height0;
    bool lower = y >= tile_height;
    uint32_t pixels = right || count <= map->width0 - x ? count : map->width0 - x;
    int64_t start = map->base[(lower ? 2 : 0) + (right ? 1 : 0)] +
                    (int64_t)(lower ? y - tile_height : y) * map->stride_y +
                    (int64_t)(right ? x - map->width0 : x) * map->stride_x;
    bool inside = !right && !lower && y < map->height && x + pixels <= map->width;
    uint8_t *memory = map_pixels(npu, channel, map, start, pixels, inside);
    if (memory == NULL) {
        return false;
    }
    *span = (struct npu_span){memory, map->stride_x,
                              map->nhcwb16 ? map->stride_c : BRICK * (map->bits / 8), pixels};
    return true;
}

bool npu_open_pixels(struct npu *npu, const struct npu_feature_map *map, uint32_t y, uint32_t x,
                     uint32_t count, struct npu_span *span)
{
    return open_span(npu, NPU_WRITE_OFM, map, y, x, count, span);
}

/** Channels of the brick that starts at channel c. */
static size_t brick_channels(const struct npu_feature_map *map, size_t c)
{
    return map->depth - c < BRICK ? map->depth - c : BRICK;
}

/** Is the span one array without gaps, in channel order? */
static bool is_dense(const struct npu_feature_map *map, const struct npu_span *span)
{
    return !map->nhcwb16 && span->pixel_step == (int64_t)map->depth * (map->bits / 8);
}

/* Convert pixels of a fixed number of elements; the compiler vectorises these. */

#define CONVERT(count, out, in, source, target, wide, zero)              \
    for (size_t i_ = 0; i_ < (count); i_++) {                            \
        source element_;                                                 \
        memcpy(&element_, (in) + i_ * sizeof element_, sizeof element_); \
        target value_ = (target)((wide)element_ - (wide)(zero));         \
        memcpy((out) + i_ * sizeof value_, &value_, sizeof value_);      \
    }

#define EACH_OF(pixels, count, source, target, wide)                        \
    for (size_t p = 0; p < (pixels); p++, out += out_step, in += in_step) { \
        CONVERT(count, out, in, source, target, wide, zero)                 \
    }

#define CONVERTER(name, source, target, wide)                                               \
    NPU_CLONES static void name(uint8_t *restrict out, int64_t out_step,                    \
                                const uint8_t *restrict in, int64_t in_step, size_t pixels, \
                                size_t count, int32_t zero)                                 \
    {                                                                                       \
        if (count == BRICK) {                                                               \
            EACH_OF(pixels, BRICK, source, target, wide)                                    \
        } else if (count == 1) {                                                            \
            EACH_OF(pixels, 1, source, target, wide)                                        \
        } else {                                                                            \
            EACH_OF(pixels, count, source, target, wide)                                    \
        }                                                                                   \
    }

typedef void (*converter_t)(uint8_t *restrict out, int64_t out_step, const uint8_t *restrict in,
                            int64_t in_step, size_t pixels, size_t count, int32_t zero);

CONVERTER(load_8_8, uint8_t, uint8_t, uint32_t)
CONVERTER(load_u8_16, uint8_t, int16_t, uint32_t)
CONVERTER(load_s8_16, int8_t, int16_t, uint32_t)
CONVERTER(load_u16_16, uint16_t, int16_t, uint32_t)
CONVERTER(load_s16_16, int16_t, int16_t, uint32_t)
CONVERTER(load_u8_32, uint8_t, int32_t, uint32_t)
CONVERTER(load_s8_32, int8_t, int32_t, uint32_t)
CONVERTER(load_u16_32, uint16_t, int32_t, uint32_t)
CONVERTER(load_s16_32, int16_t, int32_t, uint32_t)
CONVERTER(load_store_32, int32_t, int32_t, uint32_t)
CONVERTER(load_u8_64, uint8_t, int64_t, uint64_t)
CONVERTER(load_s8_64, int8_t, int64_t, uint64_t)
CONVERTER(load_u16_64, uint16_t, int64_t, uint64_t)
CONVERTER(load_s16_64, int16_t, int64_t, uint64_t)
CONVERTER(load_32_64, int32_t, int64_t, uint64_t)
CONVERTER(load_64_64, int64_t, int64_t, uint64_t)
CONVERTER(store_8, int32_t, uint8_t, uint32_t)
CONVERTER(store_16, int32_t, uint16_t, uint32_t)

/** Loader of elements into values of `target_size` bytes; NULL if that would narrow them. */
static converter_t find_loader(const struct npu_feature_map *map, size_t target_size)
{
    static const struct {
        converter_t to_16, to_32, to_64;
    } loaders[][2] = {
        [1] = {{load_u8_16, load_u8_32, load_u8_64}, {load_s8_16, load_s8_32, load_s8_64}},
        [2] = {{load_u16_16, load_u16_32, load_u16_64}, {load_s16_16, load_s16_32, load_s16_64}},
        [4] = {{NULL, NULL, NULL}, {NULL, load_store_32, load_32_64}},
        [8] = {{NULL, NULL, NULL}, {NULL, NULL, load_64_64}},
    };
    unsigned bytes = map->bits / 8u;
    return target_size == sizeof(int16_t)   ? loaders[bytes][map->is_signed].to_16
           : target_size == sizeof(int32_t) ? loaders[bytes][map->is_signed].to_32
                                            : loaders[bytes][map->is_signed].to_64;
}

static converter_t find_store(const struct npu_feature_map *map)
{
    return map->bits == 8 ? store_8 : map->bits == 16 ? store_16 : load_store_32;
}

static void load_span(const struct npu_feature_map *map, const struct npu_span *span,
                      converter_t load, uint8_t *out, size_t target_size, int32_t zero)
{
    if (is_dense(map, span)) {
        load(out, 0, span->memory, 0, 1, (size_t)span->pixels * map->depth, zero);
        return;
    }
    for (size_t c = 0; c < map->depth; c += BRICK) {
        const uint8_t *brick = span->memory + (int64_t)(c / BRICK) * span->brick_step;
        load(out + c * target_size, (int64_t)(map->depth * target_size), brick, span->pixel_step,
             span->pixels, brick_channels(map, c), zero);
    }
}

/** zero: what is subtracted from each element. */
static bool read_row(struct npu *npu, const struct npu_feature_map *map, uint32_t y, void *out,
                     converter_t load, size_t target_size, int32_t zero)
{
    for (uint32_t x = 0; x < map->width;) {
        struct npu_span span;
        if (!open_span(npu, NPU_READ_IFM, map, y, x, map->width - x, &span)) {
            return false;
        }
        load_span(map, &span, load, (uint8_t *)out + (size_t)x * map->depth * target_size,
                  target_size, zero);
        x += span.pixels;
    }
    return true;
}

/** Signed elements plus 128 are unsigned. */
static int32_t unsigned_zero(const struct npu_feature_map *map)
{
    return map->is_signed ? INT8_MIN : 0;
}

int32_t npu_map_zero_8(const struct npu_feature_map *map)
{
    return map->zero_point - unsigned_zero(map);
}

bool npu_read_row_8(struct npu *npu, const struct npu_feature_map *map, uint32_t y, uint8_t *out)
{
    return read_row(npu, map, y, out, load_8_8, sizeof *out, unsigned_zero(map));
}

bool npu_read_row_16(struct npu *npu, const struct npu_feature_map *map, uint32_t y, int16_t *out)
{
    return read_row(npu, map, y, out, find_loader(map, sizeof *out), sizeof *out, map->zero_point);
}

bool npu_read_row_32(struct npu *npu, const struct npu_feature_map *map, uint32_t y, int32_t *out)
{
    return read_row(npu, map, y, out, find_loader(map, sizeof *out), sizeof *out, map->zero_point);
}

bool npu_read_row_64(struct npu *npu, const struct npu_feature_map *map, uint32_t y, int64_t *out)
{
    return read_row(npu, map, y, out, find_loader(map, sizeof *out), sizeof *out, map->zero_point);
}

void npu_store_brick(const struct npu_feature_map *map, const struct npu_span *span, size_t brick,
                     const int32_t *values)
{
    find_store(map)(span->memory + (int64_t)brick * span->brick_step, span->pixel_step,
                    (const uint8_t *)values, BRICK * sizeof *values, span->pixels,
                    brick_channels(map, brick * BRICK), 0);
}

/** Store values of `size` bytes. */
static void store_span(const struct npu_feature_map *map, const struct npu_span *span,
                       converter_t store, const uint8_t *values, size_t size)
{
    if (is_dense(map, span)) {
        store(span->memory, 0, values, 0, 1, (size_t)span->pixels * map->depth, 0);
        return;
    }
    for (size_t c = 0; c < map->depth; c += BRICK) {
        uint8_t *brick = span->memory + (int64_t)(c / BRICK) * span->brick_step;
        store(brick, span->pixel_step, values + c * size, (int64_t)(map->depth * size),
              span->pixels, brick_channels(map, c), 0);
    }
}

static bool write_pixels(struct npu *npu, const struct npu_feature_map *map, uint32_t y, uint32_t x,
                         uint32_t count, converter_t store, const uint8_t *values, size_t size)
{
    while (count > 0 && map->used) {
        struct npu_span span;
        if (!npu_open_pixels(npu, map, y, x, count, &span)) {
            return false;
        }
        store_span(map, &span, store, values, size);
        values += (size_t)span.pixels * map->depth * size;
        x += span.pixels;
        count -= span.pixels;
    }
    return true;
}

bool npu_write_pixels(struct npu *npu, const struct npu_feature_map *map, uint32_t y, uint32_t x,
                      uint32_t count, const int32_t *values)
{
    return write_pixels(npu, map, y, x, count, find_store(map), (const uint8_t *)values,
                        sizeof *values);
}

bool npu_write_pixels_64(struct npu *npu, const struct npu_feature_map *map, uint32_t y, uint32_t x,
                         uint32_t count, const int64_t *values)
{
    return write_pixels(npu, map, y, x, count, load_64_64, (const uint8_t *)values, sizeof *values);
}
