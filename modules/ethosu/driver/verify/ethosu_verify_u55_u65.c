// SPDX-License-Identifier: MIT
/** The verifier: the operations of Ethos-U55 and Ethos-U65 and their memory accesses. */
#include "driver/verify/ethosu_verify.h"
#include "driver/base/ethosu_count.h"

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

/** Is the sum or maximum not scaled? Those of an average of a padded IFM are divided. */
static bool is_unscaled(const struct walk *walk, uint32_t word)
{
    uint32_t padding = get(walk, NPU_SET_IFM_PAD_TOP) | get(walk, NPU_SET_IFM_PAD_LEFT) |
                       get(walk, NPU_SET_IFM_PAD_RIGHT) | get(walk, NPU_SET_IFM_PAD_BOTTOM);
    return word == POOL_MAX || (word == POOL_AVERAGE && padding != 0);
}

/**
 * The scales per channel of a POOL. Vela up to 4.5 selects no OFM_SCALE and sets no scales for
 * those that the NPU does not scale. It is undocumented whether it fetches scales there, so any
 * that are set are checked.
 */
static int check_scales(struct walk *walk, uint32_t word)
{
    if (walk->values[NPU_SET_SCALE_BASE] == UNSET && is_unscaled(walk, word)) {
        return 0;
    }
    RETURN_IF_ERROR(require(walk, 1u << SCALES));
    return check_streams(walk, NPU_SET_SCALE_REGION, SCALES1, NPU_SET_SCALE1_BASE);
}

/** Bytes of the NPU's internal memory; 0 if CONFIG does not say. */
static uint32_t internal_bytes(const struct walk *walk)
{
    return (walk->config >> 8 & 0xFF) * 1024;
}

/** ACTIVATION [3:0] counts 256 bytes of tables; their size is that of the OFM's elements. */
static __attribute__((noinline)) int check_filled(struct walk *walk)
{
    static const uint16_t bytes[4] = {256, 2048, 1024, LUT_BYTES};
    uint32_t size = get(walk, NPU_SET_OFM_PRECISION) >> 1 & 3;
    return internal_bytes(walk) == 0
               ? 0
               : ethosu_ext_walk_table(walk, (get(walk, NPU_SET_ACTIVATION) & 0xF) * 256,
                                       bytes[size]);
}

ALWAYS_INLINE int check_table(struct walk *walk)
{
    enum { TABLE = 0x10 };
    return get(walk, NPU_SET_ACTIVATION) & TABLE ? check_filled(walk) : 0;
}

/** CONV, DEPTHWISE, POOL. */
static int check_kernel(struct walk *walk, uint32_t word)
{
    enum { GLOBAL_SCALE = 1 << 8 };
    bool pool = CODE(word) == NPU_OP_POOL;
    RETURN_IF_ERROR(check_maps(walk));
    RETURN_IF_ERROR(check_table(walk));
    if (word != NPU_OP_CONV && word != POOL_REDUCE_SUM) {
        RETURN_IF_ERROR(ethosu_ext_walk_depth(walk));
    }
    if (!pool) {
        RETURN_IF_ERROR(check_streams(walk, NPU_SET_WEIGHT_REGION, WEIGHTS1, NPU_SET_WEIGHT1_BASE));
    }
    if (get(walk, NPU_SET_OFM_PRECISION) & GLOBAL_SCALE) {
        RETURN_IF_ERROR(is_unscaled(walk, word) ? 0 : require(walk, 1u << OFM_SCALED));
        if (pool) {
            return 0;
        }
    }
    return check_scales(walk, word);
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
        return require(walk, 1u << IFM2_TYPE | 1u << SCALAR_U55);
    }
    RETURN_IF_ERROR(require(walk, 1u << IFM2 | 1u << IFM2_TYPE | 1u << IFM2_BUFFER));
    int32_t ifm2[] = {
        [HEIGHT_M1] = broadcast & BROADCAST_H ? 0 : ofm[HEIGHT_M1],
        [WIDTH_M1] = broadcast & BROADCAST_W ? 0 : ofm[WIDTH_M1],
        [DEPTH_M1] = broadcast & BROADCAST_C ? 0 : ofm[DEPTH_M1],
    };
    return ethosu_ext_walk_map(walk, walk->values + NPU_SET_IFM2_PRECISION, MAP_READ, ifm2);
}

enum { UNARY = 0xE0 }; // LRELU, ABS, CLZ

/** Scales by mode: MUL, ADD, SUB, MIN, MAX, LRELU, ABS, CLZ, SHR, SHL. */
static const uint32_t operand_scales[] = {1 << OFM_SCALED,
                                          1 << OFM_SCALED | 1 << SCALE_AB,
                                          1 << OFM_SCALED | 1 << SCALE_AB,
                                          0,
                                          0,
                                          1 << OFM_SCALED,
                                          1 << OFM_SCALED,
                                          0,
                                          0,
                                          0};

/** Those of `needs`; if IFM_PRECISION [9:8] is not 0, a sum scales one operand, by OPA_SCALE. */
static int check_operand_scales(struct walk *walk, uint32_t needs)
{
    if (needs & 1u << SCALE_AB && get(walk, NPU_SET_IFM_PRECISION) >> 8 & 3) {
        needs ^= 1u << SCALE_AB | 1u << SCALE_A;
    }
    return require(walk, needs);
}

static int check_elementwise(struct walk *walk, uint32_t word)
{
    const int32_t *ofm = walk->values + NPU_SET_OFM_HEIGHT_M1;
    uint32_t needs = operand_scales[PARAM(word)];
    RETURN_IF_ERROR(ethosu_ext_walk_depth(walk));
    RETURN_IF_ERROR(check_ifm(walk, ofm));
    if (!(UNARY >> PARAM(word) & 1)) {
        RETURN_IF_ERROR(check_ifm2(walk));
    }
    if (needs & ~walk->ready) {
        RETURN_IF_ERROR(check_operand_scales(walk, needs));
    }
    RETURN_IF_ERROR(check_table(walk));
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
    uint32_t internal = internal_bytes(walk);
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
    if (end == 0 || extent.low < 0 || (internal != 0 && extent.high > internal)) {
        return ethosu_ext_walk_refuse_value(walk, (uint64_t)extent.high,
                                            NPU_SET_DMA0_SRC_REGION + end);
    }
    if (dimensions_m1 == 0) { // the tables are the last of each core's SHRAM
        uint32_t tables = internal / walk->cores - LUT_BYTES;
        ethosu_ext_walk_fill_table(walk, (uint32_t)base - tables, get(walk, NPU_SET_DMA0_LEN));
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
    FOR_ELEMENTWISE = 1 << SHAPE | 1 << IFM | 1 << OFM | 1 << RESULT,
    FOR_POOL = FOR_ELEMENTWISE | 1 << WINDOW | 1 << ACCUMULATORS,
    FOR_CONV = FOR_POOL | 1 << WEIGHTS | 1 << SCALES,
};

static const struct operation operations[] = {
    [NPU_OP_STOP] = {0, 0xFFFF, ethosu_ext_walk_stop},  // mask of interrupts
    [NPU_OP_IRQ] = {0, 0xFFFF, ethosu_ext_walk_ignore}, // the same
    [NPU_OP_CONV] = {FOR_CONV, 0, check_kernel},
    [NPU_OP_DEPTHWISE] = {FOR_CONV, 0, check_kernel},
    [NPU_OP_POOL] = {FOR_POOL, 2, check_kernel},                    // mode
    [NPU_OP_ELEMENTWISE] = {FOR_ELEMENTWISE, 9, check_elementwise}, // mode
    [NPU_OP_DMA_START] = {1 << DMA, 0, check_dma},
    [NPU_OP_DMA_WAIT] = {0, 0xF, ethosu_ext_walk_ignore},
    [NPU_OP_KERNEL_WAIT] = {0, 3, ethosu_ext_walk_ignore},
    [NPU_OP_PMU_MASK] = {0, 1, ethosu_ext_walk_ignore},
};

#define IN_U5_U6_U8(...) __VA_ARGS__
#define IN_U5_U6(...) __VA_ARGS__
#define IN_U6(...) __VA_ARGS__
#define IN_U6_U8(...) __VA_ARGS__
#define IN_U8(...)

#define BITS(bits, bits85) bits
#include "driver/verify/ethosu_verify_tables.def"

#define COMMANDS                                                                            \
    .registers = registers, .payloads = payloads, .zeros = zeros, .operations = operations, \
    .operation_count = COUNT(operations), .size_log2_max = 2,                               \
    .other = ethosu_ext_walk_refuse_command, .walk = ethosu_ext_walk_straight

const struct ethosu_ext_commands ethosu_ext_commands_U55 = {COMMANDS, .narrow = true};
const struct ethosu_ext_commands ethosu_ext_commands_U65 = {COMMANDS};
