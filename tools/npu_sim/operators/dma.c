// SPDX-License-Identifier: MIT
/** NPU_OP_DMA_START: copies between regions and into the lookup tables. */
#include <inttypes.h>
#include <string.h>

#include "core/npu_internal.h"
#include "memory/memory.h"
#include "operands/operation.h"

enum {
    REGION_MASK = 7,
    REGION_INTERNAL = 1 << 8,
    ALIGNMENT = NPU_LUT_GRANULE,
    INDEX_BYTES = 4,
    STRIDES_RESERVED = 3, /**< value of stride_mode */
};

/** One end of the copy. */
struct end {
    unsigned region;
    bool internal;
    int64_t offset;
    int64_t row_stride, plane_stride; /**< bytes */
    bool indexed;                     /**< index i: row at i * row_stride */
};

/** State specific to DMA. */
struct dma {
    struct end source, target;
    uint64_t length; /**< bytes of one row */
    uint64_t rows, planes;

    /* Row indices if one end is indexed, plane after plane. */
    unsigned index_region;
    int64_t index_offset, index_skip;
    uint32_t index_max;
};
_Static_assert(sizeof(struct dma) <= NPU_DECODED_MAX, "fits into struct npu_op");

/* --- Decode --------------------------------------------------------------- */

static bool decode_end(struct npu *npu, enum npu_command_row region, enum npu_command_row address,
                       struct end *end)
{
    uint64_t value;
    if (!npu_get(npu, region, &value) || !npu_get_offset(npu, address, &end->offset)) {
        return false;
    }
    end->region = value & REGION_MASK;
    end->internal = (value & REGION_INTERNAL) != 0;
    return true;
}

/** U55 copies multiples of 16 bytes; the others require that only for the NPU's internal memory. */
static bool check_alignment(struct npu *npu, const struct dma *dma)
{
    bool all = npu->product->family->aligned_dma;
    uint64_t bits = 0;
    if (all || dma->source.internal) {
        bits |= (uint64_t)dma->source.offset;
    }
    if (all || dma->target.internal) {
        bits |= (uint64_t)dma->target.offset | dma->length;
    }
    if (bits % ALIGNMENT == 0) {
        return true;
    }
    return npu_fail(
        npu, NPU_FAULT_PARSE,
        "copies %" PRIu64 " bytes from 0x%" PRIx64 " to 0x%" PRIx64 ": not multiples of %d",
        dma->length, (uint64_t)dma->source.offset, (uint64_t)dma->target.offset, ALIGNMENT);
}

/** Sizes of a copy with this number of dimensions. */
static bool decode_sizes(struct npu *npu, struct dma *dma, unsigned dimensions)
{
    dma->rows = 1;
    dma->planes = 1;
    if (dimensions > 1 && !npu_get(npu, NPU_SET_DMA0_SIZE0, &dma->rows)) {
        return false;
    }
    return dimensions < 3 || npu_get(npu, NPU_SET_DMA0_SIZE1, &dma->planes);
}

/** Ethos-U55 has no strides. */
static bool decode_row(struct npu *npu, struct dma *dma, unsigned source, unsigned target)
{
    unsigned dimensions = source > target ? source : target;
    if (dimensions > 1) {
        return npu_fail(npu, NPU_FAULT_PARSE, "has stride mode %u", dimensions - 1);
    }
    return decode_sizes(npu, dma, dimensions);
}

static void set_skips(const struct dma *dma, struct end *end, unsigned dimensions,
                      const int64_t skip[2])
{
    end->row_stride = (int64_t)dma->length + (dimensions > 1 ? skip[0] : 0);
    end->plane_stride = (int64_t)dma->rows * end->row_stride + (dimensions > 2 ? skip[1] : 0);
}

/** Ethos-U65: each end is strided or contiguous; both skip the same distances. */
static bool decode_skips(struct npu *npu, struct dma *dma, unsigned source, unsigned target)
{
    unsigned dimensions = target > source ? target : source;
    int64_t skip[2] = {0, 0};
    if (!decode_sizes(npu, dma, dimensions) ||
        (dimensions > 1 && !npu_get_distance(npu, NPU_SET_DMA0_SKIP0, &skip[0])) ||
        (dimensions > 2 && !npu_get_distance(npu, NPU_SET_DMA0_SKIP1, &skip[1]))) {
        return false;
    }
    set_skips(dma, &dma->source, source, skip);
    set_skips(dma, &dma->target, target, skip);
    return true;
}

/**
 * A copy by index needs its number of rows also in one dimension. Vela 5.0 does not set it; 5.1
 * sets 1, and lists a fix of the results of SCATTER.
 */
static bool check_indexed_rows(struct npu *npu, unsigned dimensions)
{
    uint64_t rows;
    if (!npu_get(npu, NPU_SET_DMA0_SIZE0, &rows)) {
        return false;
    }
    return dimensions > 1 || rows == 1 ||
           npu_fail(npu, NPU_FAULT_PARSE, "has %" PRIu64 " rows in one dimension", rows);
}

static bool decode_indices(struct npu *npu, struct dma *dma, unsigned dimensions)
{
    uint64_t region, offset, max;
    if (!npu_get(npu, NPU_SET_DMA0_IDX_REGION, &region) ||
        !npu_get(npu, NPU_SET_DMA0_IDX, &offset) || !npu_get(npu, NPU_SET_DMA0_IDX_MAX, &max) ||
        (dimensions > 2 && !npu_get_distance(npu, NPU_SET_DMA0_IDX_SKIP1, &dma->index_skip))) {
        return false;
    }
    dma->index_region = (unsigned)region;
    dma->index_offset = (int64_t)offset;
    dma->index_max = (uint32_t)max;
    if (offset % INDEX_BYTES == 0 && dma->index_skip % INDEX_BYTES == 0) {
        return true;
    }
    return npu_fail(npu, NPU_FAULT_PARSE, "has indices at 0x%" PRIx64 ", not a multiple of %d",
                    offset, INDEX_BYTES);
}

/** Select the end whose rows are copied by index: at most one, and not the lookup tables. */
static bool decode_indexed(struct npu *npu, struct dma *dma)
{
    uint32_t source, target;
    if (!npu_get_field(npu, NPU_FIELD_DMA_SOURCE_INDEXED, &source) ||
        !npu_get_field(npu, NPU_FIELD_DMA_TARGET_INDEXED, &target)) {
        return false;
    }
    dma->source.indexed = source != 0;
    dma->target.indexed = target != 0;
    if (dma->source.indexed && dma->target.indexed) {
        return npu_fail(npu, NPU_FAULT_PARSE, "indexes both source and destination");
    }
    if (dma->target.indexed && dma->target.internal) {
        return npu_fail(npu, NPU_FAULT_PARSE, "indexes the lookup tables");
    }
    return true;
}

/** Strides of one end, as needed for the dimensions and index. */
static bool decode_end_strides(struct npu *npu, struct end *end, unsigned dimensions,
                               enum npu_command_row row, enum npu_command_row plane)
{
    if ((dimensions > 1 || end->indexed) && !npu_get_distance(npu, row, &end->row_stride)) {
        return false;
    }
    return dimensions < 3 || npu_get_distance(npu, plane, &end->plane_stride);
}

/**
 * Ethos-U85: one stride mode for both ends, with separate strides; the rows of one end by index.
 */
static bool decode_strides(struct npu *npu, struct dma *dma, unsigned dimensions, unsigned same)
{
    (void)same;
    if (!decode_sizes(npu, dma, dimensions) || !decode_indexed(npu, dma) ||
        !decode_end_strides(npu, &dma->source, dimensions, NPU_SET_DMA0_SRC_STRIDE0,
                            NPU_SET_DMA0_SRC_STRIDE1) ||
        !decode_end_strides(npu, &dma->target, dimensions, NPU_SET_DMA0_DST_STRIDE0,
                            NPU_SET_DMA0_DST_STRIDE1)) {
        return false;
    }
    bool indexed = dma->source.indexed || dma->target.indexed;
    return !indexed ||
           (check_indexed_rows(npu, dimensions) && decode_indices(npu, dma, dimensions));
}

/** How each family encodes the distances, given the dimensions of source and target. */
static bool (*const decode_shape[NPU_FAMILIES])(struct npu *npu, struct dma *dma, unsigned source,
                                                unsigned target) = {
    [NPU_U55] = decode_row,
    [NPU_U65] = decode_skips,
    [NPU_U85] = decode_strides,
};

static bool decode(struct npu *npu, struct npu_op *op)
{
    struct dma *dma = npu_new_decoded(op, sizeof *dma);
    int64_t length;
    uint32_t source, target;
    if (!decode_end(npu, NPU_SET_DMA0_SRC_REGION, NPU_SET_DMA0_SRC, &dma->source) ||
        !decode_end(npu, NPU_SET_DMA0_DST_REGION, NPU_SET_DMA0_DST, &dma->target) ||
        !npu_get_offset(npu, NPU_SET_DMA0_LEN, &length) ||
        !npu_get_field(npu, NPU_FIELD_DMA_SOURCE_STRIDES, &source) ||
        !npu_get_field(npu, NPU_FIELD_DMA_TARGET_STRIDES, &target)) {
        return false;
    }
    dma->length = (uint64_t)length;
    if (source == STRIDES_RESERVED || target == STRIDES_RESERVED) {
        return npu_fail(npu, NPU_FAULT_PARSE, "has stride mode %d", STRIDES_RESERVED);
    }
    if (dma->length == 0) {
        return npu_fail(npu, NPU_FAULT_PARSE, "copies 0 bytes");
    }
    if (dma->source.internal) {
        return npu_fail(npu, NPU_FAULT_PARSE, "copies from internal memory, not supported");
    }
    return decode_shape[npu->product->family->index](npu, dma, 1 + source, 1 + target) &&
           check_alignment(npu, dma);
}

/* --- Execute -------------------------------------------------------------- */

/** Internal memory that keeps its content after an operation: the lookup tables. */
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
    npu_tables_fill(npu, (uint32_t)at, (uint32_t)length);
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
    memmove(to, from, (size_t)dma->length); /* mapped, so it fits the host */
    npu_count_bytes(npu, NPU_READ_DMA, dma->source.region, dma->length);
    if (!dma->target.internal) {
        npu_count_bytes(npu, NPU_WRITE_DMA, dma->target.region, dma->length);
    }
    return true;
}

/** Read a row's index. Beyond the limit it would address memory that the NPU does not own. */
static bool read_index(struct npu *npu, const struct dma *dma, uint64_t plane, uint64_t row,
                       uint32_t *index)
{
    int64_t offset = dma->index_offset + (int64_t)(plane * dma->rows + row) * INDEX_BYTES +
                     (int64_t)plane * dma->index_skip;
    const uint8_t *bytes = npu_map(npu, NPU_READ_DMA, dma->index_region, offset, INDEX_BYTES);
    if (bytes == NULL) {
        return false;
    }
    npu_count_bytes(npu, NPU_READ_DMA, dma->index_region, INDEX_BYTES);
    memcpy(index, bytes, sizeof *index);
    if (*index <= dma->index_max) {
        return true;
    }
    npu->run.fault_channel = NPU_READ_DMA;
    return npu_fail(npu, NPU_FAULT_BUS,
                    "has index %" PRId32 " of row %" PRIu64 ", at most %" PRIu32, (int32_t)*index,
                    plane * dma->rows + row, dma->index_max);
}

/** Offset of a row; wraps like addresses. */
static int64_t row_offset(const struct end *end, uint64_t plane, uint64_t row, uint32_t index)
{
    return (int64_t)((uint64_t)end->offset + plane * (uint64_t)end->plane_stride +
                     (end->indexed ? index : row) * (uint64_t)end->row_stride);
}

static bool copy_row(struct npu *npu, const struct dma *dma, uint64_t plane, uint64_t row)
{
    uint32_t index = 0;
    bool indexed = dma->source.indexed || dma->target.indexed;
    if (indexed && !read_index(npu, dma, plane, row, &index)) {
        return false;
    }
    return copy(npu, dma, row_offset(&dma->source, plane, row, index),
                row_offset(&dma->target, plane, row, index));
}

static bool execute(struct npu *npu, const struct npu_op *op)
{
    const struct dma *dma = op->decoded;
    for (uint64_t plane = 0; plane < dma->planes; plane++) {
        for (uint64_t row = 0; row < dma->rows; row++) {
            if (npu_should_abort(npu) || !copy_row(npu, dma, plane, row)) {
                return false;
            }
        }
    }
    return true;
}

const struct npu_operator npu_dma = {decode, execute};
