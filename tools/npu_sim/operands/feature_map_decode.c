// SPDX-License-Identifier: MIT
/** Feature maps as the command registers describe them. */
#include <inttypes.h>

#include "core/npu_internal.h"
#include "memory/feature_map.h"

/** Registers of one feature map. */
struct map_registers {
    const char *name;
    enum npu_command_row region, precision, zero_point;
    enum npu_command_row width0, height0, height1;
    enum npu_command_row base0, stride_x, stride_y, stride_c; /**< base0 to base3 are adjacent */
    enum npu_field size, storage;
    unsigned sizes; /**< supported element sizes */
};

#define MAP_REGISTERS(map, sizes) \
    {#map,                        \
     NPU_SET_##map##_REGION,      \
     NPU_SET_##map##_PRECISION,   \
     NPU_SET_##map##_ZERO_POINT,  \
     NPU_SET_##map##_WIDTH0_M1,   \
     NPU_SET_##map##_HEIGHT0_M1,  \
     NPU_SET_##map##_HEIGHT1_M1,  \
     NPU_SET_##map##_BASE0,       \
     NPU_SET_##map##_STRIDE_X,    \
     NPU_SET_##map##_STRIDE_Y,    \
     NPU_SET_##map##_STRIDE_C,    \
     NPU_FIELD_##map##_SIZE,      \
     NPU_FIELD_##map##_STORAGE,   \
     sizes}

static const struct map_registers ifm_registers = MAP_REGISTERS(IFM, 3);
static const struct map_registers ifm2_registers = MAP_REGISTERS(IFM2, 4);
static const struct map_registers ofm_registers = MAP_REGISTERS(OFM, 4);

enum { FORMAT_SHIFT = 6, BRICK_ALIGNMENT = 16, TILES = 4 };

/** Values of the storage field. */
enum { STORAGE_TILED = 0, STORAGE_CHAINED = 2, STORAGE_NONE = 3 };

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static bool decode_precision(struct npu *npu, const struct map_registers *registers,
                             struct npu_feature_map *map)
{
    uint64_t precision;
    uint64_t zero_point;
    uint32_t size;
    if (!npu_get(npu, registers->precision, &precision) ||
        !npu_get_field(npu, registers->size, &size) ||
        !npu_get(npu, registers->zero_point, &zero_point)) {
        return false;
    }
    unsigned format = precision >> FORMAT_SHIFT & 3u;
    map->is_signed = (precision & 1) != 0;
    if (size >= smaller(registers->sizes, npu->product->family->element_sizes) || format > 1 ||
        (size >= 2 && !map->is_signed)) {
        return npu_fail(npu, NPU_FAULT_PARSE, "has %s_PRECISION 0x%04" PRIx64, registers->name,
                        precision);
    }
    map->bits = (uint8_t)(8u << size);
    map->nhcwb16 = format == 1;
    map->zero_point = map->is_signed ? (int16_t)zero_point : (uint16_t)zero_point;
    return true;
}

static bool decode_tiles(struct npu *npu, const struct map_registers *registers,
                         struct npu_feature_map *map)
{
    uint64_t region, width0, height0, height1;
    if (!npu_get(npu, registers->region, &region) || !npu_get(npu, registers->width0, &width0) ||
        !npu_get(npu, registers->height0, &height0) ||
        !npu_get(npu, registers->height1, &height1) ||
        !npu_get_distance(npu, registers->stride_x, &map->stride_x) ||
        !npu_get_distance(npu, registers->stride_y, &map->stride_y) ||
        !npu_get_distance(npu, registers->stride_c, &map->stride_c)) {
        return false;
    }
    map->used = true;
    map->region = (uint8_t)region;
    map->width0 = (uint32_t)width0 + 1;
    map->height0 = (uint32_t)height0 + 1;
    map->height1 = (uint32_t)height1 + 1;
    for (unsigned i = 0; i < TILES; i++) {
        if (!npu_get_offset(npu, registers->base0 + i, &map->base[i])) {
            return false;
        }
    }
    return true;
}

static bool check_alignment(struct npu *npu, const struct map_registers *registers,
                            const struct npu_feature_map *map)
{
    int64_t unit = map->nhcwb16 ? BRICK_ALIGNMENT : map->bits / 8;
    int64_t bits = map->stride_y | (map->nhcwb16 ? map->stride_c : map->stride_x);
    for (unsigned i = 0; i < TILES; i++) {
        bits |= map->base[i];
    }
    if (bits % unit == 0) {
        return true;
    }
    return npu_fail(npu, NPU_FAULT_PARSE,
                    "has a misaligned %s: base 0x%" PRIx64 ", strides y %" PRId64 " x %" PRId64
                    " c %" PRId64 ", unit %" PRId64,
                    registers->name, (uint64_t)map->base[0], map->stride_y, map->stride_x,
                    map->stride_c, unit);
}

/** A map that stays inside the NPU; REGION is its buffer number. */
static bool decode_chain(struct npu *npu, const struct map_registers *registers,
                         struct npu_feature_map *map)
{
    uint64_t buffer;
    if (!npu_get(npu, registers->region, &buffer)) {
        return false;
    }
    map->used = true;
    map->chained = true;
    map->nhcwb16 = false;
    map->region = (uint8_t)buffer;
    if (buffer < NPU_CHAINS) {
        return true;
    }
    return npu_fail(npu, NPU_FAULT_PARSE, "has %s in chaining buffer %u", registers->name,
                    (unsigned)buffer);
}

static bool decode_map(struct npu *npu, const struct map_registers *registers,
                       struct npu_feature_map *map)
{
    uint32_t storage;
    if (!decode_precision(npu, registers, map) ||
        !npu_get_field(npu, registers->storage, &storage)) {
        return false;
    }
    switch (storage) {
    case STORAGE_TILED:
        return decode_tiles(npu, registers, map) && check_alignment(npu, registers, map);
    case STORAGE_CHAINED:
        return decode_chain(npu, registers, map);
    case STORAGE_NONE:
        return true;
    default:
        return npu_fail(npu, NPU_FAULT_PARSE, "has %s in 3x1 tiles, not supported",
                        registers->name);
    }
}

bool npu_decode_ifm(struct npu *npu, struct npu_feature_map *map)
{
    uint64_t depth;
    if (!npu_get(npu, NPU_SET_IFM_DEPTH_M1, &depth)) {
        return false;
    }
    map->depth = (uint32_t)depth + 1;
    return decode_map(npu, &ifm_registers, map);
}

bool npu_decode_ifm_operand(struct npu *npu, struct npu_feature_map *map)
{
    return decode_map(npu, &ifm_registers, map);
}

bool npu_decode_ifm2(struct npu *npu, struct npu_feature_map *map)
{
    return decode_map(npu, &ifm2_registers, map);
}

bool npu_decode_ifm_type(struct npu *npu, struct npu_feature_map *map)
{
    return decode_precision(npu, &ifm_registers, map);
}

bool npu_decode_ifm2_type(struct npu *npu, struct npu_feature_map *map)
{
    return decode_precision(npu, &ifm2_registers, map);
}

bool npu_decode_ofm(struct npu *npu, struct npu_feature_map *map)
{
    uint64_t height, width, depth;
    if (!npu_get(npu, NPU_SET_OFM_HEIGHT_M1, &height) ||
        !npu_get(npu, NPU_SET_OFM_WIDTH_M1, &width) ||
        !npu_get(npu, NPU_SET_OFM_DEPTH_M1, &depth)) {
        return false;
    }
    map->height = (uint32_t)height + 1;
    map->width = (uint32_t)width + 1;
    map->depth = (uint32_t)depth + 1;
    return decode_map(npu, &ofm_registers, map);
}
