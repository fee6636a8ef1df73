// SPDX-License-Identifier: MIT
/**
 * The verifier: walks a command stream once, keeps the registers that it sets,
 * and at each operation bounds every access by the size of its region. There
 * is no IOMMU on these parts: what passes here can write nothing but the
 * buffers that the caller gave.
 *
 * It is exact where the hardware is (tiles, signed strides, bricks, padding,
 * upscaling, broadcast, both cores), and refuses what it does not know. A
 * register must be set before it is used: what an earlier stream has left in
 * the NPU does not count.
 */
#include "ethosu_driver_ex.h"
#include "ethosu_fault.h"
#include "ethosu_registers.h"

#include <string.h>

/* Words: opcode [9:0], 0 [13:10], 1 [14] if a payload follows, 0 [15], parameter [31:16]. */
#define CODE(word) ((word) & 0xFFFFu)
#define PARAM(word) ((word) >> 16)
#define CODE_PAYLOAD 0x4000u

/** First code of the registers with 16 bits, and how many codes each kind has. */
#define REGISTER_FIRST 0x100u
#define REGISTER_CODES 0x90u
#define PAYLOAD_CODES 0x94u

/** Values are kept by slot, numbered from 1 in the order of the table; U65's come first. */
#define OPERATION(opcode, name, largest, needs, check)
#define REGISTER(opcode, name, bits, products) name,
#define PAYLOAD(opcode, name, bits, products) name,
enum {
    NO_SLOT,
#include "ethosu_commands.def"
    SLOT_END,
    U65_SLOT_LAST = NPU_SET_DMA0_SKIP1
};
#undef REGISTER
#undef PAYLOAD

#define REGISTER(opcode, name, bits, products) [(opcode) - REGISTER_FIRST] = name,
#define PAYLOAD(opcode, name, bits, products)
static const uint8_t register_slots[REGISTER_CODES] = {
#include "ethosu_commands.def"
};
#undef REGISTER
#undef PAYLOAD
#define REGISTER(opcode, name, bits, products)
#define PAYLOAD(opcode, name, bits, products) [opcode] = name,
static const uint8_t payload_slots[PAYLOAD_CODES] = {
#include "ethosu_commands.def"
};
#undef REGISTER
#undef PAYLOAD

/** Parameter bits that must be 0. */
#define REGISTER(opcode, name, bits, products) [name] = 0xFFFF & ~0x##bits,
#define PAYLOAD(opcode, name, bits, products) \
    [name] = 0x##bits == 0xFF ? 0xFFFF : 0xFFFF & ~0x##bits,
static const uint16_t zeros[SLOT_END] = {
#include "ethosu_commands.def"
};
#undef REGISTER
#undef PAYLOAD
#undef OPERATION

/** Small and in each operation's way: in line with -Os too. */
#define HOT static inline __attribute__((always_inline))

/** Never set. A register can't hold it, and an address or a step of 2 GB can't be right. */
#define UNSET INT32_MIN

struct walk {
    int32_t values[SLOT_END];
    const uint8_t *stream;
    const uint8_t *at; /**< the command at hand */
    const uint8_t *end;
    const size_t *size;
    uint32_t regions;
    bool u65;
    bool stopped;
    uint32_t internal_bytes; /**< SHRAM; 0: not known */
    uint32_t written;        /**< bit per region */
    uint32_t ready;          /**< bit per enum group: all of it has been set */
    struct ethosux_fault *fault;
};

/** Number of the word at hand. */
static int index_of(const struct walk *walk)
{
    return (int)((walk->at - walk->stream) / 4);
}

static int refuse(struct walk *walk, int code, uint64_t found, uint64_t expected)
{
    return ethosux_refuse_wide(walk->fault, code, index_of(walk), found, expected);
}

/* ---- registers ---- */

/** What is used together; a group is looked at until all of it has been set, then never more. */
enum group { NOTHING, SHAPE, WINDOW, IFM, IFM2, OFM, WEIGHTS, SCALES, WEIGHTS1, SCALES1, DMA };

/** What the operations need in any case: sets of groups. */
enum {
    FOR_NOTHING = 0,
    FOR_DMA = 1 << DMA,
    FOR_ELEMENTWISE = 1 << SHAPE | 1 << IFM | 1 << OFM,
    FOR_POOL = FOR_ELEMENTWISE | 1 << WINDOW,
    FOR_CONV = FOR_POOL | 1 << WEIGHTS | 1 << SCALES,
};

/** Slot of the first, and how many. */
static const struct {
    uint8_t first;
    uint8_t count;
} groups[] = {
    [SHAPE] = {NPU_SET_IFM_DEPTH_M1, 4},  [WINDOW] = {NPU_SET_IFM_PAD_TOP, 8},
    [IFM] = {NPU_SET_IFM_PRECISION, 8},   [IFM2] = {NPU_SET_IFM2_PRECISION, 8},
    [OFM] = {NPU_SET_OFM_PRECISION, 8},   [WEIGHTS] = {NPU_SET_WEIGHT_REGION, 3},
    [SCALES] = {NPU_SET_SCALE_REGION, 3}, [WEIGHTS1] = {NPU_SET_WEIGHT1_BASE, 2},
    [SCALES1] = {NPU_SET_SCALE1_BASE, 2}, [DMA] = {NPU_SET_DMA0_SRC_REGION, 5},
};

/** The command that sets a slot. */
static uint32_t code_of(uint32_t slot)
{
    for (uint32_t code = 0; code < REGISTER_CODES; code++) {
        if (register_slots[code] == slot) {
            return REGISTER_FIRST + code;
        }
    }
    uint32_t code = 0;
    while (payload_slots[code] != slot) {
        code++;
    }
    return CODE_PAYLOAD | code;
}

/** A register holds what can't be right. */
static int refuse_value(struct walk *walk, uint64_t found, uint32_t slot)
{
    return refuse(walk, ETHOSUX_E_COMMAND_VALUE, found, code_of(slot));
}

static int need_slots(struct walk *walk, uint32_t first, uint32_t count)
{
    for (uint32_t slot = first; slot < first + count; slot++) {
        if (walk->values[slot] == UNSET) {
            return refuse(walk, ETHOSUX_E_COMMAND_UNSET, code_of(slot), 0);
        }
    }
    return 0;
}

/** Has everything in this set of groups been set? @return 0, or refused */
static __attribute__((noinline)) int complete(struct walk *walk, uint32_t needed)
{
    int error = 0;
    for (uint32_t missing = needed & ~walk->ready; error == 0 && missing != 0;
         missing &= missing - 1) {
        uint32_t group = (uint32_t)__builtin_ctz(missing);
        error = need_slots(walk, groups[group].first, groups[group].count);
    }
    walk->ready |= error == 0 ? needed : 0;
    return error;
}

HOT int need(struct walk *walk, uint32_t needed)
{
    return needed & ~walk->ready ? complete(walk, needed) : 0;
}

static inline uint32_t get(const struct walk *walk, uint32_t slot)
{
    return (uint32_t)walk->values[slot];
}

/* ---- accesses ---- */

/** An access in a region, in bytes: from the lowest to one past the highest. */
struct extent {
    uint32_t region;
    int64_t low;
    int64_t high;
};

/** So many steps further, up or down; both have less than 32 bits. */
static inline void widen(struct extent *extent, int32_t count, int32_t step)
{
    int64_t distance = (int64_t)count * step;
    if (step < 0) {
        extent->low += distance;
    } else {
        extent->high += distance;
    }
}

static __attribute__((noinline)) int refuse_extent(struct walk *walk, struct extent extent)
{
    uint32_t region = extent.region;
    if (region >= walk->regions) {
        return refuse(walk, ETHOSUX_E_REGION_UNKNOWN, region, walk->regions);
    }
    struct ethosux_fault bounds = {
        .code = ETHOSUX_E_REGION_BOUNDS,
        .index = index_of(walk),
        .found = (uint64_t)(extent.low < 0 ? extent.low : extent.high),
        .expected = walk->size[region],
        .detail = region,
    };
    return ethosux_report(walk->fault, &bounds);
}

HOT int check_extent(struct walk *walk, const struct extent *extent)
{
    if (extent->region < walk->regions && extent->low >= 0 &&
        (uint64_t)extent->high <= walk->size[extent->region]) {
        return 0;
    }
    return refuse_extent(walk, *extent);
}

/** Where the values of a feature map are. */
struct map {
    uint8_t first;      /**< slot */
    uint8_t size_shift; /**< of the element size in the precision */
};

static const struct map ifm_map = {NPU_SET_IFM_PRECISION, 2};
static const struct map ifm2_map = {NPU_SET_IFM2_PRECISION, 2};
static const struct map ofm_map = {NPU_SET_OFM_PRECISION, 1};

/** Slots from the first of a map on. */
enum { PRECISION, WIDTH0, HEIGHT0, HEIGHT1, REGION, STRIDE_X, STRIDE_Y, BASE0, STRIDE_C = 11 };

static inline int32_t smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/** A shape is three numbers, each one less than the size: as the registers hold it. */
enum { HEIGHT_M1, WIDTH_M1, DEPTH_M1 };

/** What the tiles of a map have in common. */
struct tiling {
    uint32_t region;
    uint32_t run; /**< bytes that lie together */
    int32_t y;    /**< steps */
    int32_t x;
    int32_t brick; /**< from sixteen channels to the next sixteen */
    uint32_t bricks_m1;
};

/** The maps that are rare: with more than one tile, or a step that is negative. */
static __attribute__((noinline)) int check_tiles(struct walk *walk, const struct map *map,
                                                 const int32_t *shape, struct tiling tiling)
{
    const int32_t *values = walk->values + map->first;
    int32_t height = shape[HEIGHT_M1] + 1;
    int32_t left = smaller(shape[WIDTH_M1], values[WIDTH0]) + 1;
    int32_t right = shape[WIDTH_M1] + 1 - left;
    int32_t upper_left = smaller(shape[HEIGHT_M1], values[HEIGHT0]) + 1;
    int32_t upper_right = smaller(shape[HEIGHT_M1], values[HEIGHT1]) + 1;
    const int32_t rows[] = {upper_left, upper_right, height - upper_left, height - upper_right};
    int error = 0;
    for (uint32_t i = 0; error == 0 && i < 4; i++) {
        int32_t columns = i % 2 == 0 ? left : right;
        if (rows[i] != 0 && columns != 0) {
            int64_t base = (uint32_t)values[BASE0 + i];
            struct extent extent = {tiling.region, base, base + tiling.run};
            widen(&extent, rows[i] - 1, tiling.y);
            widen(&extent, columns - 1, tiling.x);
            widen(&extent, (int32_t)tiling.bricks_m1, tiling.brick);
            error = need_slots(walk, map->first + BASE0 + i, 1);
            error = error == 0 ? check_extent(walk, &extent) : error;
        }
    }
    return error;
}

/** In bricks of sixteen channels pixels lie sixteen elements apart. */
static int check_bricks(struct walk *walk, const struct map *map, int32_t pixel)
{
    int32_t x = walk->values[map->first + STRIDE_X];
    if (x != pixel) { // Arm does not say whether another step is obeyed or ignored
        return refuse_value(walk, (uint64_t)x, map->first + STRIDE_X);
    }
    return need_slots(walk, map->first + STRIDE_C, 1);
}

static __attribute__((noinline)) int check_map(struct walk *walk, const struct map *map,
                                               const int32_t *shape)
{
    const int32_t *values = walk->values + map->first;
    uint32_t precision = (uint32_t)values[PRECISION];
    uint32_t size_log2 = precision >> map->size_shift & 3;
    uint32_t format = precision >> 6 & 3;
    uint32_t depth_m1 = (uint32_t)shape[DEPTH_M1];
    struct tiling tiling = {
        .region = (uint32_t)values[REGION],
        .run = (depth_m1 + 1) << size_log2,
        .y = values[STRIDE_Y],
        .x = values[STRIDE_X],
    };
    if (size_log2 > 2 || format > 1) {
        return refuse_value(walk, precision, map->first + PRECISION);
    }
    if (format == 1) {
        if (tiling.x != 16 << size_log2 || values[STRIDE_C] == UNSET) {
            int error = check_bricks(walk, map, 16 << size_log2);
            if (error != 0) {
                return error;
            }
        }
        if (depth_m1 >= 16) {
            tiling.run = 16u << size_log2;
            tiling.bricks_m1 = depth_m1 / 16;
            tiling.brick = values[STRIDE_C];
        }
    }
    if ((tiling.y | tiling.x | tiling.brick) < 0 || shape[HEIGHT_M1] > values[HEIGHT0] ||
        shape[WIDTH_M1] > values[WIDTH0]) {
        return check_tiles(walk, map, shape, tiling);
    }
    // At most 32 bits, 19 bits, and three times 19 by 31 bits: far from overflow.
    uint64_t end = (uint64_t)(uint32_t)values[BASE0] + tiling.run;
    end += (uint64_t)(uint32_t)shape[HEIGHT_M1] * (uint32_t)tiling.y;
    end += (uint64_t)(uint32_t)shape[WIDTH_M1] * (uint32_t)tiling.x;
    end += (uint64_t)tiling.bricks_m1 * (uint32_t)tiling.brick;
    return check_extent(walk, &(struct extent){tiling.region, 0, (int64_t)end});
}

static int check_ofm(struct walk *walk)
{
    int error = check_map(walk, &ofm_map, walk->values + NPU_SET_OFM_HEIGHT_M1);
    walk->written |= 1u << (get(walk, NPU_SET_OFM_REGION) & 7);
    return error;
}

/* ---- operations ---- */

/** Rows or columns of the IFM that those of the OFM are computed from, less one. */
static inline int32_t input_size_m1(const struct walk *walk, uint32_t output_m1, uint32_t stride,
                                    uint32_t kernel_m1, uint32_t padding)
{
    int32_t size_m1 = (int32_t)(output_m1 * stride + kernel_m1 - padding);
    return get(walk, NPU_SET_IFM_UPSCALE) == 0 ? size_m1 : size_m1 >> 1;
}

/** The part of the IFM that a kernel's window moves over. */
static int check_window(struct walk *walk)
{
    uint32_t stride = get(walk, NPU_SET_KERNEL_STRIDE);
    int32_t ifm[] = {
        [HEIGHT_M1] = input_size_m1(
            walk, get(walk, NPU_SET_OFM_HEIGHT_M1), 1 + (stride >> 1 & 1) + (stride >> 8 & 2),
            get(walk, NPU_SET_KERNEL_HEIGHT_M1),
            get(walk, NPU_SET_IFM_PAD_TOP) + get(walk, NPU_SET_IFM_PAD_BOTTOM)),
        [WIDTH_M1] =
            input_size_m1(walk, get(walk, NPU_SET_OFM_WIDTH_M1),
                          1 + (stride & 1) + (stride >> 5 & 2), get(walk, NPU_SET_KERNEL_WIDTH_M1),
                          get(walk, NPU_SET_IFM_PAD_LEFT) + get(walk, NPU_SET_IFM_PAD_RIGHT)),
        [DEPTH_M1] = walk->values[NPU_SET_IFM_DEPTH_M1],
    };
    int32_t least = smaller(ifm[HEIGHT_M1], ifm[WIDTH_M1]);
    if (least < 0) {
        return refuse_value(walk, (uint64_t)(least + INT64_C(1)), NPU_SET_IFM_PAD_BOTTOM);
    }
    return check_map(walk, &ifm_map, ifm);
}

static int check_depth(struct walk *walk)
{
    uint32_t depth_m1 = get(walk, NPU_SET_IFM_DEPTH_M1);
    return depth_m1 == get(walk, NPU_SET_OFM_DEPTH_M1)
               ? 0
               : refuse_value(walk, depth_m1, NPU_SET_IFM_DEPTH_M1);
}

/** Does the second core take part? It reads streams of its own. */
static bool two_cores(const struct walk *walk)
{
    return get(walk, NPU_SET_PARALLEL_MODE) == 1 && get(walk, NPU_SET_OFM_DEPTH_M1) > 0;
}

/** Weights or scales: base and length are two slots. */
static int check_stream(struct walk *walk, uint32_t region, uint32_t slot)
{
    int64_t base = get(walk, slot);
    struct extent extent = {region, base, base + get(walk, slot + 1)};
    return check_extent(walk, &extent);
}

/** `slot`: the region, then base and length; the second core has another base and length. */
static int check_streams(struct walk *walk, uint32_t slot, enum group group1)
{
    uint32_t region = get(walk, slot);
    int error = check_stream(walk, region, slot + 1);
    if (error == 0 && walk->u65) {
        error = need_slots(walk, NPU_SET_PARALLEL_MODE, 1);
        if (error == 0 && two_cores(walk)) {
            error = need(walk, 1u << group1);
            error = error == 0 ? check_stream(walk, region, groups[group1].first) : error;
        }
    }
    return error;
}

/** CONV, DEPTHWISE, POOL. */
static int check_kernel(struct walk *walk, uint32_t word)
{
    enum { CONV = 2, POOL = 5, REDUCE_SUM = 2, GLOBAL_SCALE = 1 << 8 };
    bool pool = CODE(word) == POOL;
    int error = check_window(walk);
    if (error == 0) {
        error = check_ofm(walk);
    }
    if (error == 0 && CODE(word) != CONV && !(pool && PARAM(word) == REDUCE_SUM)) {
        error = check_depth(walk);
    }
    if (error == 0 && !pool) {
        error = check_streams(walk, NPU_SET_WEIGHT_REGION, WEIGHTS1);
    }
    if (error == 0 && !(pool && (get(walk, NPU_SET_OFM_PRECISION) & GLOBAL_SCALE))) {
        error = need(walk, 1u << SCALES);
        error = error == 0 ? check_streams(walk, NPU_SET_SCALE_REGION, SCALES1) : error;
    }
    return error;
}

static int check_ifm2(struct walk *walk)
{
    enum { BROADCAST_H = 1, BROADCAST_W = 2, BROADCAST_C = 4, SCALAR = 0x80 };
    const int32_t *ofm = walk->values + NPU_SET_OFM_HEIGHT_M1;
    int32_t broadcast = walk->values[NPU_SET_IFM2_BROADCAST];
    if (broadcast == UNSET) {
        return need_slots(walk, NPU_SET_IFM2_BROADCAST, 1);
    }
    if (broadcast & SCALAR) {
        return 0;
    }
    int error = need(walk, 1u << IFM2);
    if (error != 0) {
        return error;
    }
    int32_t ifm2[] = {
        [HEIGHT_M1] = broadcast & BROADCAST_H ? 0 : ofm[HEIGHT_M1],
        [WIDTH_M1] = broadcast & BROADCAST_W ? 0 : ofm[WIDTH_M1],
        [DEPTH_M1] = broadcast & BROADCAST_C ? 0 : ofm[DEPTH_M1],
    };
    return check_map(walk, &ifm2_map, ifm2);
}

static int check_elementwise(struct walk *walk, uint32_t word)
{
    enum { UNARY_FIRST = 5, UNARY_LAST = 7 }; // LRELU, ABS, CLZ
    int error = check_depth(walk);
    if (error == 0) {
        error = check_map(walk, &ifm_map, walk->values + NPU_SET_OFM_HEIGHT_M1);
    }
    if (error == 0 && (PARAM(word) < UNARY_FIRST || PARAM(word) > UNARY_LAST)) {
        error = check_ifm2(walk);
    }
    return error == 0 ? check_ofm(walk) : error;
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
    if (dimensions_m1 > (walk->u65 ? 2u : 0u)) {
        return refuse_value(walk, dimensions_m1, NPU_SET_DMA0_DST_REGION);
    }
    int error = need_slots(walk, NPU_SET_DMA0_SIZE0, 2 * dimensions_m1);
    if (error != 0) {
        return error;
    }
    to->rows = walk->values[NPU_SET_DMA0_SIZE0];
    to->skip0 = walk->values[NPU_SET_DMA0_SKIP0];
    if (dimensions_m1 > 1) {
        to->planes = walk->values[NPU_SET_DMA0_SIZE1];
        to->skip1 = walk->values[NPU_SET_DMA0_SKIP1];
    }
    return to->rows != 0 && to->planes != 0 ? 0 : refuse_value(walk, 0, NPU_SET_DMA0_SIZE0);
}

/** A transfer in two or three dimensions; both ends have the same rows and planes. */
static __attribute__((noinline)) int widen_dma(struct walk *walk, uint32_t region,
                                               uint32_t dimensions_m1, struct extent *extent)
{
    struct dimensions dma = {1, 1, 0, 0};
    int error = get_dimensions(walk, dimensions_m1, &dma);
    if (error != 0) {
        return error;
    }
    // Length 32 bits, skips 31, rows and planes 16 each: the largest sum has 33 + 16 + 16 bits,
    // one too many, so a plane is kept below 2^46.
    int64_t length = extent->high - extent->low;
    int64_t row = length + (DMA_DIMENSIONS_M1(region) > 0 ? dma.skip0 : 0);
    int64_t plane = dma.rows * row + (DMA_DIMENSIONS_M1(region) > 1 ? dma.skip1 : 0);
    if (plane >= INT64_C(1) << 46 || plane <= -(INT64_C(1) << 46)) {
        return refuse_value(walk, (uint64_t)plane, NPU_SET_DMA0_SRC_REGION);
    }
    *(row < 0 ? &extent->low : &extent->high) += (dma.rows - 1) * row;
    *(plane < 0 ? &extent->low : &extent->high) += (dma.planes - 1) * plane;
    return 0;
}

/** One end of a transfer: 0 the source, 1 the target. */
static int check_dma_end(struct walk *walk, uint32_t dimensions_m1, uint32_t end)
{
    uint32_t region = get(walk, NPU_SET_DMA0_SRC_REGION + end);
    int64_t base = get(walk, NPU_SET_DMA0_SRC + end);
    struct extent extent = {DMA_REGION(region), base, base + get(walk, NPU_SET_DMA0_LEN)};
    if (dimensions_m1 > 0) {
        int error = widen_dma(walk, region, dimensions_m1, &extent);
        if (error != 0) {
            return error;
        }
    }
    if (!(region & DMA_INTERNAL)) {
        walk->written |= end << DMA_REGION(region);
        return check_extent(walk, &extent);
    }
    if (end == 0 || extent.low < 0 ||
        (walk->internal_bytes != 0 && extent.high > walk->internal_bytes)) {
        return refuse_value(walk, (uint64_t)extent.high, NPU_SET_DMA0_SRC_REGION + end);
    }
    return 0;
}

static int check_dma(struct walk *walk, uint32_t word)
{
    (void)word;
    uint32_t source = DMA_DIMENSIONS_M1(get(walk, NPU_SET_DMA0_SRC_REGION));
    uint32_t target = DMA_DIMENSIONS_M1(get(walk, NPU_SET_DMA0_DST_REGION));
    uint32_t dimensions_m1 = source > target ? source : target;
    int error = check_dma_end(walk, dimensions_m1, 0);
    return error == 0 ? check_dma_end(walk, dimensions_m1, 1) : error;
}

static int check_stop(struct walk *walk, uint32_t word)
{
    (void)word;
    walk->stopped = true;
    return 0;
}

static int check_nothing(struct walk *walk, uint32_t word)
{
    (void)walk;
    (void)word;
    return 0;
}

/* ---- the walk ---- */

#define OPERATION(opcode, name, largest, needs, check) [opcode] = {largest, FOR_##needs, check},
#define REGISTER(opcode, name, bits, products)
#define PAYLOAD(opcode, name, bits, products)
static const struct {
    uint16_t largest;
    uint16_t needs;
    int (*check)(struct walk *walk, uint32_t word);
} operations[] = {
#include "ethosu_commands.def"
};
#undef PAYLOAD
#undef REGISTER
#undef OPERATION

#define OPERATION_CODES (sizeof operations / sizeof operations[0])

static inline uint32_t word_at(const uint8_t *at)
{
    uint32_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

static bool has_payload(uint32_t word)
{
    return CODE(word) - CODE_PAYLOAD < PAYLOAD_CODES;
}

/** Slot of a word that sets one; NO_SLOT: the product knows no such command. */
static uint32_t slot_of(const struct walk *walk, uint32_t word)
{
    uint32_t code = CODE(word) - REGISTER_FIRST;
    uint32_t slot = code < REGISTER_CODES ? register_slots[code]
                    : has_payload(word)   ? payload_slots[CODE(word) - CODE_PAYLOAD]
                                          : NO_SLOT;
    return slot > U65_SLOT_LAST || walk->u65 ? slot : NO_SLOT;
}

/** A command that neither sets a register nor is an operation: why? */
static int refuse_command(struct walk *walk, uint32_t word)
{
    uint32_t slot = slot_of(walk, word);
    if (slot == NO_SLOT || !has_payload(word) || (PARAM(word) & zeros[slot] & 0xFF00) != 0) {
        return refuse(walk, ETHOSUX_E_COMMAND_UNKNOWN, word, 0);
    }
    if (walk->at == walk->end - 4) {
        return refuse(walk, ETHOSUX_E_COMMAND_CUT, 0, 0);
    }
    uint64_t high = PARAM(word);
    return refuse_value(walk, high << 32 | word_at(walk->at + 4), slot);
}

static int operate(struct walk *walk, uint32_t word)
{
    uint32_t code = CODE(word);
    if (code >= OPERATION_CODES || operations[code].check == NULL ||
        PARAM(word) > operations[code].largest) {
        return refuse_command(walk, word);
    }
    int error = need(walk, operations[code].needs);
    return error == 0 ? operations[code].check(walk, word) : error;
}

/**
 * The walk is over. While it set registers it only looked at their parameters:
 * did it set one that the product has not?
 */
static int check_known(struct walk *walk)
{
    bool strange = walk->values[NO_SLOT] != UNSET;
    for (uint32_t slot = 1; !walk->u65 && slot <= U65_SLOT_LAST; slot++) {
        strange |= walk->values[slot] != UNSET;
    }
    uint32_t word = 0;
    for (walk->at = walk->stream; strange; walk->at += has_payload(word) ? 8 : 4) {
        word = word_at(walk->at);
        if (CODE(word) >= OPERATION_CODES && slot_of(walk, word) == NO_SLOT) {
            return refuse(walk, ETHOSUX_E_COMMAND_UNKNOWN, word, 0);
        }
    }
    return 0;
}

/** Steps of U65 have 40 bits with sign; here they must fit 32. Others have no high bits set. */
static bool fits(uint32_t slot, uint32_t word, uint32_t low)
{
    return zeros[slot] != 0 || (uint8_t)PARAM(word) == (uint8_t)((int32_t)low >> 31);
}

/** Walk to the STOP; setting registers is most of it, so that is done right here. */
static __attribute__((noinline)) int run(struct walk *walk)
{
    const uint8_t *at = walk->stream;
    const uint8_t *last = walk->end - 4;
    const uint8_t *plain_end = walk->u65 ? at : last; // up to here a payload needs no more care

    for (; at <= last; at += 4) {
        uint32_t word = word_at(at);
        uint32_t code = CODE(word) - REGISTER_FIRST;
        if (code < REGISTER_CODES) {
            uint32_t slot = register_slots[code];
            if (__builtin_expect((PARAM(word) & zeros[slot]) == 0, 1)) {
                walk->values[slot] = (int32_t)PARAM(word);
                continue;
            }
        }
        code = CODE(word) - CODE_PAYLOAD;
        if (code < PAYLOAD_CODES) {
            uint32_t slot = payload_slots[code];
            if (__builtin_expect((PARAM(word) & zeros[slot]) == 0, 1) &&
                (at < plain_end || (at != last && fits(slot, word, word_at(at + 4))))) {
                at += 4;
                walk->values[slot] = (int32_t)word_at(at);
                continue;
            }
        }
        walk->at = at;
        int error = operate(walk, word);
        if (error != 0 || walk->stopped) {
            return error;
        }
    }
    return ethosux_refuse(walk->fault, ETHOSUX_E_COMMAND_NO_STOP, -1,
                          (size_t)(walk->end - walk->stream) / 4, 0);
}

int ethosux_verify(const void *stream, size_t stream_bytes, uint32_t config, const size_t *size,
                   int count, uint32_t *written, struct ethosux_fault *fault)
{
    struct walk walk; // too large to be copied from an initialiser
    if (NPU_CONFIG_PRODUCT(config) > 1) {
        return ethosux_refuse(fault, ETHOSUX_E_NO_VERIFIER, -1, config, config);
    }
    for (uint32_t slot = 0; slot < SLOT_END; slot++) {
        walk.values[slot] = UNSET;
    }
    walk.stream = stream;
    walk.end = walk.stream + stream_bytes / 4 * 4;
    walk.size = size;
    walk.regions = (uint32_t)count;
    walk.u65 = NPU_CONFIG_PRODUCT(config) == 1;
    walk.stopped = false;
    walk.internal_bytes = (config >> 8 & 0xFF) * 1024;
    walk.written = 0;
    walk.ready = 0;
    walk.fault = fault;
    int error = stream_bytes < 4 ? ethosux_fail(fault, ETHOSUX_E_COMMAND_NO_STOP, -1) : run(&walk);
    int unknown = check_known(&walk);
    if (written != NULL) {
        *written = walk.written;
    }
    return unknown != 0 ? unknown : error;
}
