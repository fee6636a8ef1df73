// SPDX-License-Identifier: MIT
/** Operands of ELEMENTWISE. */
#include "operands/operand.h"

#include <string.h>

#include "core/npu_internal.h"
#include "memory/feature_map.h"
#include "operands/operation.h"

/** Register fields that describe an operand's broadcast, by family. */
struct operand_fields {
    enum npu_field broadcast, is_scalar;
    bool (*decode_map)(struct npu *npu, struct npu_feature_map *map);
    bool (*decode_type)(struct npu *npu, struct npu_feature_map *map);
};

static const struct operand_fields first_fields = {NPU_FIELD_IFM_BROADCAST, NPU_FIELD_IFM_IS_SCALAR,
                                                   npu_decode_ifm_operand, npu_decode_ifm_type};
static const struct operand_fields second_fields = {
    NPU_FIELD_IFM2_BROADCAST, NPU_FIELD_IFM2_IS_SCALAR, npu_decode_ifm2, npu_decode_ifm2_type};

/** The number in IFM2_SCALAR or OP_SCALAR; the field has 16 bits, or 32. */
static bool decode_scalar(struct npu *npu, const struct npu_feature_map *map,
                          struct npu_operand *operand)
{
    unsigned bits = npu_field_positions(npu->product->family->index)[NPU_FIELD_SCALAR].bits;
    uint32_t scalar;
    if (!npu_get_field(npu, NPU_FIELD_SCALAR, &scalar)) {
        return false;
    }
    if (map->is_signed) {
        scalar = (uint32_t)npu_sign_extend(scalar, bits);
    }
    operand->scalar = (int32_t)(scalar - (uint32_t)map->zero_point);
    return true;
}

static bool decode(struct npu *npu, const struct operand_fields *fields,
                   const struct npu_feature_map *ofm, struct npu_feature_map *map,
                   struct npu_operand *operand)
{
    uint32_t broadcast, is_scalar;
    if (!npu_get_field(npu, fields->broadcast, &broadcast) ||
        !npu_get_field(npu, fields->is_scalar, &is_scalar)) {
        return false;
    }
    operand->is_scalar = is_scalar != 0;
    if (operand->is_scalar) {
        return fields->decode_type(npu, map) && decode_scalar(npu, map, operand);
    }
    if (!fields->decode_map(npu, map)) {
        return false;
    }
    map->height = (broadcast & NPU_BROADCAST_H) != 0 ? 1 : ofm->height;
    map->width = (broadcast & NPU_BROADCAST_W) != 0 ? 1 : ofm->width;
    map->depth = (broadcast & NPU_BROADCAST_C) != 0 ? 1 : ofm->depth;
    if (map->used) {
        return true;
    }
    return npu_fail(npu, NPU_FAULT_PARSE, "has an operand without storage");
}

bool npu_decode_operand(struct npu *npu, struct npu_op *op, struct npu_operand *operand)
{
    return decode(npu, &first_fields, &op->output.map, &op->ifm, operand);
}

bool npu_decode_operand2(struct npu *npu, struct npu_op *op, struct npu_operand *operand)
{
    uint32_t start;
    return decode(npu, &second_fields, &op->output.map, &op->ifm2, operand) &&
           (operand->is_scalar || npu_get_field(npu, NPU_FIELD_IFM2_BUFFER_START, &start));
}

/** Repeat the one pixel or the one channel of a broadcast row of elements, in place. */
static void spread(const struct npu_feature_map *from, const struct npu_feature_map *ofm,
                   uint8_t *row, size_t element)
{
    size_t pixel = from->depth * element, whole = ofm->depth * element;
    for (size_t x = ofm->width; x-- > 0;) {
        uint8_t *to = row + x * whole;
        memmove(to, row + (from->width == 1 ? 0 : x * pixel), pixel);
        for (size_t done = pixel; done < whole; done *= 2) {
            memcpy(to + done, to, done < whole - done ? done : whole - done);
        }
    }
}

bool npu_operand_load(struct npu *npu, const struct npu_operand *operand,
                      const struct npu_feature_map *map, const struct npu_feature_map *ofm,
                      uint32_t y, int32_t *row, uint8_t *bytes)
{
    if (y > 0 && (operand->is_scalar || map->height == 1)) {
        return true;
    }
    if (operand->is_scalar) {
        for (size_t i = 0; i < (size_t)ofm->width * ofm->depth; i++) {
            row[i] = operand->scalar;
        }
        return true;
    }
    if (bytes != NULL ? !npu_read_row_8(npu, map, y, bytes) : !npu_read_row_32(npu, map, y, row)) {
        return false;
    }
    if (map->width != ofm->width || map->depth != ofm->depth) {
        spread(map, ofm, bytes != NULL ? bytes : (uint8_t *)row, bytes != NULL ? 1 : sizeof *row);
    }
    return true;
}
