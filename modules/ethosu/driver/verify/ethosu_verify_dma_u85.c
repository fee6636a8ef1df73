// SPDX-License-Identifier: MIT
/** The verifier: reads and writes of Ethos-U85 DMA, in up to three dimensions. */
#include "driver/verify/ethosu_verify.h"

/** Region registers: region [2:0], internal [8], dimensions - 1 [10:9] (source only), indexed [11].
 */
#define DMA_REGION(value) ((value) & 7u)
#define DMA_INTERNAL 0x100u
#define DMA_DIMENSIONS_M1(value) ((value) >> 9 & 3u)
#define DMA_INDEXED 0x800u

/** Rows and planes of a transfer, each minus one. */
struct dimensions {
    int32_t rows_m1;
    int32_t planes_m1;
};

/** Get the number of rows or planes; the register is ignored unless `counts`. */
static int get_size(struct walk *walk, bool counts, uint32_t slot, int32_t *size_m1)
{
    *size_m1 = 0;
    if (!counts) {
        return 0;
    }
    RETURN_IF_ERROR(require_slot(walk, slot));
    *size_m1 = walk->values[slot] - 1;
    return *size_m1 >= 0 ? 0 : ethosu_ext_walk_refuse_value(walk, 0, slot);
}

static int get_dimensions(struct walk *walk, struct dimensions *to)
{
    uint32_t source = get(walk, NPU_SET_DMA0_SRC_REGION);
    uint32_t target = get(walk, NPU_SET_DMA0_DST_REGION);
    uint32_t dimensions_m1 = DMA_DIMENSIONS_M1(source);
    bool indexed = ((source | target) & DMA_INDEXED) != 0;
    if (dimensions_m1 > 2 || (source & target & DMA_INDEXED)) {
        return ethosu_ext_walk_refuse_value(walk, source, NPU_SET_DMA0_SRC_REGION);
    }
    RETURN_IF_ERROR(get_size(walk, dimensions_m1 > 0 || indexed, NPU_SET_DMA0_SIZE0, &to->rows_m1));
    if (dimensions_m1 == 0 && to->rows_m1 > 0) { // one dimension has one row
        return ethosu_ext_walk_refuse_value(walk, get(walk, NPU_SET_DMA0_SIZE0),
                                            NPU_SET_DMA0_SIZE0);
    }
    return get_size(walk, dimensions_m1 > 1, NPU_SET_DMA0_SIZE1, &to->planes_m1);
}

/** Widen by `count` steps, up or down. Values have at most 31 bits, so three sums fit 64. */
static int widen(struct walk *walk, struct extent *extent, int32_t count, uint32_t step_slot)
{
    if (count == 0) {
        return 0;
    }
    RETURN_IF_ERROR(require_slot(walk, step_slot));
    int64_t distance = (int64_t)count * walk->values[step_slot];
    *(distance < 0 ? &extent->low : &extent->high) += distance;
    return 0;
}

/** Check the indices: 32 bits each, with a skip after each plane. */
static int check_indices(struct walk *walk, const struct dimensions *dma)
{
    RETURN_IF_ERROR(require(walk, 1u << DMA_INDICES));
    if (walk->values[NPU_SET_DMA0_IDX_MAX] < 0) {
        return ethosu_ext_walk_refuse_value(walk, get(walk, NPU_SET_DMA0_IDX_MAX),
                                            NPU_SET_DMA0_IDX_MAX);
    }
    int64_t base = get(walk, NPU_SET_DMA0_IDX);
    int64_t plane = 4 * ((int64_t)dma->rows_m1 + 1);
    struct extent extent = {get(walk, NPU_SET_DMA0_IDX_REGION), base, base + plane};
    if (dma->planes_m1 > 0) {
        RETURN_IF_ERROR(require_slot(walk, NPU_SET_DMA0_IDX_SKIP1));
        int64_t distance = dma->planes_m1 * (plane + walk->values[NPU_SET_DMA0_IDX_SKIP1]);
        *(distance < 0 ? &extent.low : &extent.high) += distance;
    }
    return check_extent(walk, &extent);
}

/** Check one end of a transfer: 0 is the source, 1 the target. Its steps are consecutive slots. */
static int check_dma_end(struct walk *walk, const struct dimensions *dma, uint32_t end)
{
    uint32_t region = get(walk, NPU_SET_DMA0_SRC_REGION + end);
    uint32_t strides = end == 0 ? NPU_SET_DMA0_SRC_STRIDE0 : NPU_SET_DMA0_DST_STRIDE0;
    int64_t base = get(walk, NPU_SET_DMA0_SRC + end);
    struct extent extent = {DMA_REGION(region), base, base + get(walk, NPU_SET_DMA0_LEN)};
    int32_t rows_m1 = region & DMA_INDEXED ? walk->values[NPU_SET_DMA0_IDX_MAX] : dma->rows_m1;
    RETURN_IF_ERROR(widen(walk, &extent, rows_m1, strides));
    RETURN_IF_ERROR(widen(walk, &extent, dma->planes_m1, strides + 1));
    if (!(region & DMA_INTERNAL)) {
        RETURN_IF_ERROR(check_extent(walk, &extent));
        if (end == 1) {
            note_write(walk, extent.region, (size_t)extent.low, (size_t)extent.high);
        }
        return 0;
    }
    if (end == 0 || extent.low < 0 || extent.high > LUT_BYTES) {
        return ethosu_ext_walk_refuse_value(walk, (uint64_t)extent.high,
                                            NPU_SET_DMA0_SRC_REGION + end);
    }
    if ((rows_m1 | dma->planes_m1) == 0) {
        ethosu_ext_walk_fill_table(walk, (uint32_t)base, get(walk, NPU_SET_DMA0_LEN));
    }
    return 0;
}

int ethosu_ext_walk_dma_u85(struct walk *walk, uint32_t word)
{
    (void)word;
    struct dimensions dma = {0, 0};
    uint32_t ends = get(walk, NPU_SET_DMA0_SRC_REGION) | get(walk, NPU_SET_DMA0_DST_REGION);
    RETURN_IF_ERROR(get_dimensions(walk, &dma));
    if (ends & DMA_INDEXED) {
        RETURN_IF_ERROR(check_indices(walk, &dma));
    }
    RETURN_IF_ERROR(check_dma_end(walk, &dma, 0));
    return check_dma_end(walk, &dma, 1);
}
