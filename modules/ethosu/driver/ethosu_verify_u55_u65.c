// SPDX-License-Identifier: MIT
/** The verifier: the operations of Ethos-U55 and Ethos-U65 and their memory accesses. */
#include "ethosu_verify.h"
#include "ethosu_count.h"

/* ---- kernels ---- */

/** Is the second core used? It reads its own streams. */
static bool two_cores(const struct walk *walk)
{
    return get(walk, NPU_SET_PARALLEL_MODE) == 1 && get(walk, NPU_SET_OFM_DEPTH_M1) > 0;
}

/** `slot`: region, base and length; `slot1`: base and length for the second core. */
static int check_streams(struct walk *walk, uint32_t slot, enum group group1, uint32_t slot1)
{
    uint32_t region = get(walk, slot);
    int error = check_stream(walk, region, slot + 1);
    if (error != 0 || walk->narrow) {
        return error;
    }
    error = require_slot(walk, NPU_SET_PARALLEL_MODE);
    if (error != 0 || !two_cores(walk)) {
        return error;
    }
    RETURN_IF_ERROR(require(walk, 1u << group1));
    return check_stream(walk, region, slot1);
}

static int check_ifm(struct walk *walk, const int32_t *shape)
{
    return ethosu_ext_walk_map(walk, walk->values + NPU_SET_IFM_PRECISION, MAP_READ, shape);
}

/** The part of the IFM that the window moves over, and the OFM. */
static int check_maps(struct walk *walk)
{
    int32_t ifm[3];
    RETURN_IF_ERROR(ethosu_ext_walk_window(walk, ifm));
    RETURN_IF_ERROR(check_ifm(walk, ifm));
    return check_ofm(walk, walk->values + NPU_SET_OFM_HEIGHT_M1);
}

/** POOL with its mode. */
enum {
    POOL_MAX = NPU_OP_POOL,
    POOL_AVERAGE = NPU_OP_POOL | 1 << 16,
    POOL_REDUCE_SUM = NPU_OP_POOL | 2 << 16,
};

/**
 * Must the per-channel scales of a POOL be checked? Vela up to 4.5 selects no OFM_SCALE and sets no
 * scales for a maximum, which is not scaled, and for an average of a padded IFM, which the NPU
 * divides. It is undocumented whether the NPU fetches scales there, so any that are set are
 * checked.
 */
static bool pool_needs_scales(const struct walk *walk, uint32_t word)
{
    enum { GLOBAL_SCALE = 1 << 8 };
    uint32_t padding = get(walk, NPU_SET_IFM_PAD_TOP) | get(walk, NPU_SET_IFM_PAD_LEFT) |
                       get(walk, NPU_SET_IFM_PAD_RIGHT) | get(walk, NPU_SET_IFM_PAD_BOTTOM);
    if (get(walk, NPU_SET_OFM_PRECISION) & GLOBAL_SCALE) {
        return false;
    }
    return walk->values[NPU_SET_SCALE_BASE] != UNSET ||
           (word != POOL_MAX && (word != POOL_AVERAGE || padding == 0));
}

/** CONV, DEPTHWISE, POOL. */
static int check_kernel(struct walk *walk, uint32_t word)
{
    RETURN_IF_ERROR(check_maps(walk));
    if (word != NPU_OP_CONV && word != POOL_REDUCE_SUM) {
        RETURN_IF_ERROR(ethosu_ext_walk_depth(walk));
    }
    if (CODE(word) != NPU_OP_POOL) {
        RETURN_IF_ERROR(check_streams(walk, NPU_SET_WEIGHT_REGION, WEIGHTS1, NPU_SET_WEIGHT1_BASE));
    } else if (!pool_needs_scales(walk, word)) {
        return 0;
    }
    RETURN_IF_ERROR(require(walk, 1u << SCALES));
    return check_streams(walk, NPU_SET_SCALE_REGION, SCALES1, NPU_SET_SCALE1_BASE);
}

/* ---- elementwise ---- */

static int check_ifm2(struct walk *walk)
{
    enum { BROADCAST_H = 1, BROADCAST_W = 2, BROADCAST_C = 4, SCALAR = 0x80 };
    const int32_t *ofm = walk->values + NPU_SET_OFM_HEIGHT_M1;
    int32_t broadcast = walk->values[NPU_SET_IFM2_BROADCAST];
    if (broadcast == UNSET) {
        return require_slot(walk, NPU_SET_IFM2_BROADCAST);
    }
    if (broadcast & SCALAR) {
        return 0;
    }
    RETURN_IF_ERROR(require(walk, 1u << IFM2));
    int32_t ifm2[] = {
        [HEIGHT_M1] = broadcast & BROADCAST_H ? 0 : ofm[HEIGHT_M1],
        [WIDTH_M1] = broadcast & BROADCAST_W ? 0 : ofm[WIDTH_M1],
        [DEPTH_M1] = broadcast & BROADCAST_C ? 0 : ofm[DEPTH_M1],
    };
    return ethosu_ext_walk_map(walk, walk->values + NPU_SET_IFM2_PRECISION, MAP_READ, ifm2);
}

static int check_elementwise(struct walk *walk, uint32_t word)
{
    enum { UNARY_FIRST = 5, UNARY_LAST = 7 }; // LRELU, ABS, CLZ
    const int32_t *ofm = walk->values + NPU_SET_OFM_HEIGHT_M1;
    bool unary = PARAM(word) >= UNARY_FIRST && PARAM(word) <= UNARY_LAST;
    RETURN_IF_ERROR(ethosu_ext_walk_depth(walk));
    RETURN_IF_ERROR(check_ifm(walk, ofm));
    if (!unary) {
        RETURN_IF_ERROR(check_ifm2(walk));
    }
    return check_ofm(walk, ofm);
}

/* ---- DMA ---- */

/** Region register: region [2:0], internal [8], dimensions - 1 [10:9]. */
#define DMA_REGION(value) ((value) & 7u)
#define DMA_INTERNAL 0x100u
#define DMA_DIMENSIONS_M1(value) ((value) >> 9 & 3u)

/** Rows and planes of a transfer on U65; one of each in one dimension. */
struct dimensions {
    int64_t rows;
    int64_t planes;
    int32_t skip0;
    int32_t skip1;
};

static int get_dimensions(struct walk *walk, uint32_t dimensions_m1, struct dimensions *to)
{
    if (dimensions_m1 > (walk->narrow ? 0u : 2u)) {
        return ethosu_ext_walk_refuse_value(walk, dimensions_m1, NPU_SET_DMA0_DST_REGION);
    }
    RETURN_IF_ERROR(require(walk, 1u << DMA_ROWS));
    to->rows = walk->values[NPU_SET_DMA0_SIZE0];
    to->skip0 = walk->values[NPU_SET_DMA0_SKIP0];
    if (dimensions_m1 > 1) {
        RETURN_IF_ERROR(require(walk, 1u << DMA_PLANES));
        to->planes = walk->values[NPU_SET_DMA0_SIZE1];
        to->skip1 = walk->values[NPU_SET_DMA0_SKIP1];
    }
    return to->rows != 0 && to->planes != 0
               ? 0
               : ethosu_ext_walk_refuse_value(walk, 0, NPU_SET_DMA0_SIZE0);
}

/** Extend a transfer to two or three dimensions; both ends have the same rows and planes. */
static __attribute__((noinline)) int widen_dma(struct walk *walk, uint32_t region,
                                               uint32_t dimensions_m1, struct extent *extent)
{
    struct dimensions dma = {1, 1, 0, 0};
    RETURN_IF_ERROR(get_dimensions(walk, dimensions_m1, &dma));
    // With a 32-bit length, 31-bit skips, and 16 bits each for rows and planes, the largest sum
    // has 33 + 16 + 16 bits, one too many. Limiting a plane to below 2^46 avoids overflow.
    int64_t length = extent->high - extent->low;
    int64_t row = length + (DMA_DIMENSIONS_M1(region) > 0 ? dma.skip0 : 0);
    int64_t plane = dma.rows * row + (DMA_DIMENSIONS_M1(region) > 1 ? dma.skip1 : 0);
    if (plane >= INT64_C(1) << 46 || plane <= -(INT64_C(1) << 46)) {
        return ethosu_ext_walk_refuse_value(walk, (uint64_t)plane, NPU_SET_DMA0_SRC_REGION);
    }
    *(row < 0 ? &extent->low : &extent->high) += (dma.rows - 1) * row;
    *(plane < 0 ? &extent->low : &extent->high) += (dma.planes - 1) * plane;
    return 0;
}

/** Check one end of a transfer: 0 is the source, 1 the target. */
static int check_dma_end(struct walk *walk, uint32_t dimensions_m1, uint32_t end)
{
    uint32_t region = get(walk, NPU_SET_DMA0_SRC_REGION + end);
    uint32_t internal_bytes = (walk->config >> 8 & 0xFF) * 1024; // 0: unknown
    int64_t base = get(walk, NPU_SET_DMA0_SRC + end);
    struct extent extent = {DMA_REGION(region), base, base + get(walk, NPU_SET_DMA0_LEN)};
    if (dimensions_m1 > 0) {
        RETURN_IF_ERROR(widen_dma(walk, region, dimensions_m1, &extent));
    }
    if (!(region & DMA_INTERNAL)) {
        RETURN_IF_ERROR(check_extent(walk, &extent));
        if (end == 1) {
            note_write(walk, extent.region, (size_t)extent.low, (size_t)extent.high);
        }
        return 0;
    }
    if (end == 0 || extent.low < 0 || (internal_bytes != 0 && extent.high > internal_bytes)) {
        return ethosu_ext_walk_refuse_value(walk, (uint64_t)extent.high,
                                            NPU_SET_DMA0_SRC_REGION + end);
    }
    return 0;
}

static int check_dma(struct walk *walk, uint32_t word)
{
    (void)word;
    uint32_t source = DMA_DIMENSIONS_M1(get(walk, NPU_SET_DMA0_SRC_REGION));
    uint32_t target = DMA_DIMENSIONS_M1(get(walk, NPU_SET_DMA0_DST_REGION));
    uint32_t dimensions_m1 = source > target ? source : target;
    RETURN_IF_ERROR(check_dma_end(walk, dimensions_m1, 0));
    return check_dma_end(walk, dimensions_m1, 1);
}

/* ---- tables ---- */

/** Groups that the operations always need. */
enum {
    FOR_ELEMENTWISE = 1 << SHAPE | 1 << IFM | 1 << OFM,
    FOR_POOL = FOR_ELEMENTWISE | 1 << WINDOW,
    FOR_CONV = FOR_POOL | 1 << WEIGHTS | 1 << SCALES,
};

static const struct operation operations[] = {
    [NPU_OP_STOP] = {0xFFFF, 0, ethosu_ext_walk_stop},  // mask of interrupts
    [NPU_OP_IRQ] = {0xFFFF, 0, ethosu_ext_walk_ignore}, // the same
    [NPU_OP_CONV] = {0, FOR_CONV, check_kernel},
    [NPU_OP_DEPTHWISE] = {0, FOR_CONV, check_kernel},
    [NPU_OP_POOL] = {2, FOR_POOL, check_kernel},                    // mode
    [NPU_OP_ELEMENTWISE] = {9, FOR_ELEMENTWISE, check_elementwise}, // mode
    [NPU_OP_DMA_START] = {0, 1 << DMA, check_dma},
    [NPU_OP_DMA_WAIT] = {0xF, 0, ethosu_ext_walk_ignore},
    [NPU_OP_KERNEL_WAIT] = {3, 0, ethosu_ext_walk_ignore},
    [NPU_OP_PMU_MASK] = {1, 0, ethosu_ext_walk_ignore},
};

#define IN_U5_U6_U8(...) __VA_ARGS__
#define IN_U5_U6(...) __VA_ARGS__
#define IN_U6(...) __VA_ARGS__
#define IN_U6_U8(...) __VA_ARGS__
#define IN_U8(...)

#define BITS(bits, bits85) bits
#include "ethosu_verify_tables.def"

#define COMMANDS                                                                            \
    .registers = registers, .payloads = payloads, .zeros = zeros, .operations = operations, \
    .operation_count = COUNT(operations), .size_log2_max = 2,                               \
    .other = ethosu_ext_walk_refuse_command, .walk = ethosu_ext_walk_straight

const struct ethosu_ext_commands ethosu_ext_commands_U55 = {COMMANDS, .narrow = true};
const struct ethosu_ext_commands ethosu_ext_commands_U65 = {COMMANDS};
