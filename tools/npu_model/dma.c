// SPDX-License-Identifier: MIT
/** NPU_OP_DMA_START: copies between regions and into the lookup tables. */
#include <inttypes.h>
#include <string.h>

#include "npu_internal.h"
#include "operation.h"
#include "rounding.h"

enum {
    REGION_MASK = 7,
    REGION_INTERNAL = 1 << 8,
    REGION_STRIDE_SHIFT = 9,
    ALIGNMENT = 16,
    LUT_GRANULE = 64, /**< bytes per bit of lut_written */
};

/** One end of the copy. */
struct end {
    unsigned region;
    bool internal;
    unsigned dimensions; /**< 1, 2 or 3 */
    uint64_t offset;
};

struct dma {
    struct end source, target;
    uint64_t length; /**< bytes of one row */
    uint64_t rows, planes;
    int64_t row_skip, plane_skip; /**< bytes after each row and plane */
};

static bool decode_end(struct npu *npu, enum npu_command_row region, enum npu_command_row address,
                       struct end *end)
{
    uint64_t value;
    if (!npu_get(npu, region, &value) || !npu_get(npu, address, &end->offset)) {
        return false;
    }
    end->region = value & REGION_MASK;
    end->internal = (value & REGION_INTERNAL) != 0;
    end->dimensions = 1 + (value >> REGION_STRIDE_SHIFT & 3u);
    if (npu->product->family->address_bits == 32) {
        end->offset = (uint32_t)end->offset;
    }
    if (end->dimensions > 3 || (end->dimensions > 1 && npu->product->family->index == NPU_U55)) {
        return npu_fail(npu, NPU_FAULT_PARSE, "has stride mode %u in %s", end->dimensions - 1,
                        npu_command_table[region].name);
    }
    return true;
}

/** U55 copies multiples of 16 bytes; U65 only insists on it inside the NPU. */
static bool check_alignment(struct npu *npu, const struct dma *dma)
{
    bool all = npu->product->family->index == NPU_U55;
    uint64_t bits = 0;
    bits |= all || dma->source.internal ? dma->source.offset : 0;
    bits |= all || dma->target.internal ? dma->target.offset | dma->length : 0;
    return bits % ALIGNMENT == 0 ||
           npu_fail(npu, NPU_FAULT_PARSE,
                    "copies %" PRIu64 " bytes from 0x%" PRIx64 " to 0x%" PRIx64
                    ": not multiples of %d",
                    dma->length, dma->source.offset, dma->target.offset, ALIGNMENT);
}

static bool decode_strides(struct npu *npu, struct dma *dma)
{
    unsigned dimensions = dma->target.dimensions > dma->source.dimensions ? dma->target.dimensions
                                                                          : dma->source.dimensions;
    uint64_t size0 = 1, size1 = 1, skip0 = 0, skip1 = 0;
    if (dimensions > 1 &&
        (!npu_get(npu, NPU_SET_DMA0_SIZE0, &size0) || !npu_get(npu, NPU_SET_DMA0_SKIP0, &skip0))) {
        return false;
    }
    if (dimensions > 2 &&
        (!npu_get(npu, NPU_SET_DMA0_SIZE1, &size1) || !npu_get(npu, NPU_SET_DMA0_SKIP1, &skip1))) {
        return false;
    }
    dma->rows = size0;
    dma->planes = size1;
    dma->row_skip = npu_sign_extend(skip0, npu->product->family->address_bits);
    dma->plane_skip = npu_sign_extend(skip1, npu->product->family->address_bits);
    return true;
}

static bool decode(struct npu *npu, struct dma *dma)
{
    if (!decode_end(npu, NPU_SET_DMA0_SRC_REGION, NPU_SET_DMA0_SRC, &dma->source) ||
        !decode_end(npu, NPU_SET_DMA0_DST_REGION, NPU_SET_DMA0_DST, &dma->target) ||
        !npu_get(npu, NPU_SET_DMA0_LEN, &dma->length) || !decode_strides(npu, dma)) {
        return false;
    }
    if (npu->product->family->address_bits == 32) {
        dma->length = (uint32_t)dma->length;
    }
    if (dma->length == 0 || dma->source.internal) {
        return npu_fail(npu, NPU_FAULT_PARSE, "%s",
                        dma->length == 0 ? "copies 0 bytes"
                                         : "copies from internal memory, not supported");
    }
    return check_alignment(npu, dma);
}

/** Internal memory that outlives an operation: the lookup tables. */
static uint8_t *map_internal(struct npu *npu, uint64_t offset, uint64_t length)
{
    uint64_t start = npu->product->table_address;
    if (offset < start || offset - start > NPU_LUT_BYTES ||
        length > NPU_LUT_BYTES - (offset - start)) {
        npu_fail(npu, NPU_FAULT_PARSE,
                 "writes %" PRIu64 " bytes at internal 0x%" PRIx64
                 ", outside the tables at 0x%" PRIx64,
                 length, offset, start);
        return NULL;
    }
    uint64_t at = offset - start;
    for (uint64_t byte = at / LUT_GRANULE * LUT_GRANULE; byte < at + length; byte += LUT_GRANULE) {
        npu->lut_written |= (uint32_t)1 << (byte / LUT_GRANULE);
    }
    return npu->lut + at;
}

static bool copy(struct npu *npu, const struct dma *dma, int64_t source, int64_t target)
{
    const uint8_t *from = npu_map(npu, NPU_READ_DMA, dma->source.region, source, dma->length);
    if (from == NULL) {
        return false;
    }
    uint8_t *to = dma->target.internal
                      ? map_internal(npu, (uint64_t)target, dma->length)
                      : npu_map(npu, NPU_WRITE_DMA, dma->target.region, target, dma->length);
    if (to == NULL) {
        return false;
    }
    memmove(to, from, dma->length);
    npu_count_bytes(npu, NPU_READ_DMA, dma->source.region, dma->length);
    if (!dma->target.internal) {
        npu_count_bytes(npu, NPU_WRITE_DMA, dma->target.region, dma->length);
    }
    return true;
}

bool npu_op_dma_start(struct npu *npu, uint32_t param)
{
    (void)param;
    struct dma dma = {0};
    if (!decode(npu, &dma)) {
        return false;
    }
    int64_t source = (int64_t)dma.source.offset;
    int64_t target = (int64_t)dma.target.offset;
    int64_t length = (int64_t)dma.length;
    for (uint64_t plane = 0; plane < dma.planes; plane++) {
        for (uint64_t row = 0; row < dma.rows; row++) {
            if (npu_should_abort(npu) || !copy(npu, &dma, source, target)) {
                return false;
            }
            source += length + (dma.source.dimensions > 1 ? dma.row_skip : 0);
            target += length + (dma.target.dimensions > 1 ? dma.row_skip : 0);
        }
        source += dma.source.dimensions > 2 ? dma.plane_skip : 0;
        target += dma.target.dimensions > 2 ? dma.plane_skip : 0;
    }
    return npu_operation_done(npu, &(struct npu_work){0});
}
