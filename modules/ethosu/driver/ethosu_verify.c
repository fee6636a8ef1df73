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

enum {
#define OPERATION(opcode, name, largest, check)
#define REGISTER(opcode, name, bits, products) name = (opcode),
#define PAYLOAD(opcode, name, bits, products) name = (opcode),
#include "ethosu_commands.def"
#undef REGISTER
#undef PAYLOAD
#undef OPERATION
};

/** First number of the registers with 16 bits, and how many numbers each kind has. */
#define REGISTER_FIRST 0x100u
#define REGISTER_COUNT 0x90u
#define PAYLOAD_COUNT 0x94u

/** Register never set; no command can store these. */
#define UNSET_REGISTER UINT32_MAX
#define UNSET_PAYLOAD UINT64_MAX

/** Words: opcode [9:0], 0 [13:10], 1 [14] if a payload follows, 0 [15], parameter [31:16]. */
#define CODE(word) ((word) & 0xFFFFu)
#define CODE_PAYLOAD 0x4000u

struct walk {
    const uint8_t *stream;
    uint32_t words;
    uint32_t at; /**< word of the command at hand */
    const size_t *size;
    uint32_t regions;
    bool u65;
    bool stopped;
    uint32_t high_bits;      /**< of payload registers: addresses have 32 bits on U55, 40 on U65 */
    uint32_t bits_end;       /**< of this product's commands: with U65's, or without */
    uint32_t internal_bytes; /**< SHRAM; 0: not known */
    uint32_t written;        /**< bit per region */
    uint32_t unset;          /**< code of the first register used and never set, or 0 */
    struct ethosux_fault *fault;
    uint32_t registers[REGISTER_COUNT];
    uint64_t payloads[PAYLOAD_COUNT];
};

/* ---- registers ---- */

/** Which parameter bits have a meaning: a byte per opcode stands for the mask. */
enum bits {
    BITS_NONE, // no such command; BITS_NONE - BITS_0001 is larger than any end
    BITS_0001, BITS_0003, BITS_0007, BITS_003F, BITS_007F, BITS_00C7, BITS_00CD, BITS_00FF,
    BITS_027F, BITS_0707, BITS_701F, BITS_C1C7, BITS_C3CD, BITS_FFFF,
};

static const uint16_t masks[] = {
    0, 0x0001, 0x0003, 0x0007, 0x003F, 0x007F, 0x00C7, 0x00CD, 0x00FF,
    0x027F, 0x0707, 0x701F, 0xC1C7, 0xC3CD, 0xFFFF,
};

#define PRODUCTS_ANY 0x00
#define PRODUCTS_U65 0x80

#define OPERATION(opcode, name, largest, check)
#define PAYLOAD(opcode, name, bits, products)
#define REGISTER(opcode, name, bits, products) \
    [(opcode) - REGISTER_FIRST] = BITS_##bits | PRODUCTS_##products,
static const uint8_t register_bits[REGISTER_COUNT] = {
#include "ethosu_commands.def"
};
#undef REGISTER
#undef PAYLOAD
#define REGISTER(opcode, name, bits, products)
#define PAYLOAD(opcode, name, bits, products) [opcode] = BITS_##bits | PRODUCTS_##products,
static const uint8_t payload_bits[PAYLOAD_COUNT] = {
#include "ethosu_commands.def"
};
#undef REGISTER
#undef PAYLOAD
#undef OPERATION

static int refuse(struct walk *walk, int code, uint64_t found, uint64_t expected)
{
    return ethosux_refuse(walk->fault, code, (int)walk->at, found, expected);
}

static uint32_t word_at(const struct walk *walk, uint32_t at)
{
    uint32_t word;
    memcpy(&word, walk->stream + 4 * (size_t)at, sizeof word);
    return word;
}

/** Does the product have the command, and the parameter only bits that the command has? */
static inline bool known(const struct walk *walk, uint8_t bits, uint32_t param)
{
    return (uint32_t)bits - BITS_0001 < walk->bits_end && (param & ~masks[bits & ~PRODUCTS_U65]) == 0;
}

static uint32_t get(struct walk *walk, uint32_t name)
{
    uint32_t value = walk->registers[name - REGISTER_FIRST];
    if (value == UNSET_REGISTER && walk->unset == 0) {
        walk->unset = name;
    }
    return value;
}

/** Unsigned address or length; walk->high_bits has cut it to size. */
static int64_t get_address(struct walk *walk, uint32_t name)
{
    uint64_t value = walk->payloads[name];
    if (value >> 32 == UNSET_PAYLOAD >> 32 && walk->unset == 0) {
        walk->unset = CODE_PAYLOAD | name;
    }
    return (int64_t)value;
}

static int64_t get_stride(struct walk *walk, uint32_t name)
{
    int64_t value = get_address(walk, name);
    return walk->u65 ? (int64_t)((uint64_t)value << 24) >> 24 : (int32_t)value;
}

/* ---- accesses ---- */

/** An extent in a region, in bytes: from the lowest to one past the highest. */
struct extent {
    int64_t low;
    int64_t high;
};

static void widen(struct extent *extent, int64_t distance)
{
    *(distance < 0 ? &extent->low : &extent->high) += distance;
}

static int check_extent(struct walk *walk, uint32_t region, const struct extent *extent,
                        bool write)
{
    if (region >= walk->regions) {
        return refuse(walk, ETHOSUX_E_REGION_UNKNOWN, region, walk->regions);
    }
    if (extent->low < 0 || (uint64_t)extent->high > walk->size[region]) {
        int64_t reached = extent->low < 0 ? extent->low : extent->high;
        int error = refuse(walk, ETHOSUX_E_REGION_BOUNDS, (uint64_t)reached, walk->size[region]);
        if (walk->fault != NULL) {
            walk->fault->detail = region;
        }
        return error;
    }
    walk->written |= (uint32_t)write << region;
    return 0;
}

static int check_stream(struct walk *walk, uint32_t region_name, uint32_t base_name,
                        uint32_t length_name)
{
    int64_t base = get_address(walk, base_name);
    struct extent extent = {base, base + get_address(walk, length_name)};
    return check_extent(walk, get(walk, region_name), &extent, false);
}

/** Where the registers of a feature map are. */
struct map {
    uint16_t registers; /**< first of its block of 16-bit registers */
    uint16_t precision;
    uint8_t size_shift; /**< of the element size in the precision */
    uint8_t payloads;   /**< first of its block of payload registers */
};

static const struct map ifm_map = {NPU_SET_IFM_PAD_TOP, NPU_SET_IFM_PRECISION, 2,
                                   NPU_SET_IFM_BASE0};
static const struct map ifm2_map = {NPU_SET_IFM2_BROADCAST, NPU_SET_IFM2_PRECISION, 2,
                                    NPU_SET_IFM2_BASE0};
static const struct map ofm_map = {0x110, NPU_SET_OFM_PRECISION, 1, NPU_SET_OFM_BASE0};

/** Offsets in the blocks that struct map names. */
enum { WIDTH0 = 0xA, HEIGHT0 = 0xB, HEIGHT1 = 0xC, REGION = 0xF };
enum { BASE0 = 0, BASE1 = 1, BASE2 = 2, BASE3 = 3, STRIDE_X = 4, STRIDE_Y = 5, STRIDE_C = 6 };

/** Height, width and depth, 1 or more each. */
struct shape {
    uint32_t height;
    uint32_t width;
    uint32_t depth;
};

/** Steps from element to element. */
struct steps {
    int64_t y;
    int64_t x;
    int64_t brick; /**< from sixteen channels to the next sixteen */
    int64_t bricks_m1;
    int64_t run; /**< bytes that lie together */
};

static int get_steps(struct walk *walk, const struct map *map, uint32_t depth,
                     struct steps *steps)
{
    uint32_t precision = get(walk, map->precision);
    uint32_t size_log2 = precision >> map->size_shift & 3;
    uint32_t format = precision >> 6 & 3;
    if (size_log2 > 2 || format > 1) {
        return refuse(walk, ETHOSUX_E_COMMAND_VALUE, precision, map->precision);
    }
    int64_t element = 1 << size_log2;
    *steps = (struct steps){
        .y = get_stride(walk, map->payloads + STRIDE_Y),
        .x = get_stride(walk, map->payloads + STRIDE_X),
    };
    if (format == 0) {
        steps->run = depth * element;
    } else {
        // Arm does not say whether another step is obeyed or ignored.
        if (steps->x != 16 * element) {
            return refuse(walk, ETHOSUX_E_COMMAND_VALUE, (uint64_t)steps->x,
                          CODE_PAYLOAD | (map->payloads + STRIDE_X));
        }
        steps->brick = get_stride(walk, map->payloads + STRIDE_C);
        steps->bricks_m1 = (depth - 1) / 16;
        steps->run = (depth < 16 ? depth : 16) * element;
    }
    return 0;
}

/** One of the four tiles of a map, rows and columns 0 when it is not used. */
static int check_tile(struct walk *walk, const struct map *map, uint32_t tile, uint32_t rows,
                      uint32_t columns, const struct steps *steps)
{
    if (rows == 0 || columns == 0) {
        return 0;
    }
    int64_t base = get_address(walk, map->payloads + tile);
    struct extent extent = {base, base + steps->run};
    widen(&extent, (int64_t)(rows - 1) * steps->y);
    widen(&extent, (int64_t)(columns - 1) * steps->x);
    widen(&extent, steps->bricks_m1 * steps->brick);
    return check_extent(walk, get(walk, map->registers + REGION), &extent, map == &ofm_map);
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static int check_map(struct walk *walk, const struct map *map, const struct shape *shape)
{
    struct steps steps;
    int error = get_steps(walk, map, shape->depth, &steps);
    uint32_t left = smaller(shape->width, get(walk, map->registers + WIDTH0) + 1);
    uint32_t right = shape->width - left;
    uint32_t upper_left = smaller(shape->height, get(walk, map->registers + HEIGHT0) + 1);
    uint32_t upper_right = smaller(shape->height, get(walk, map->registers + HEIGHT1) + 1);
    if (error == 0) {
        error = check_tile(walk, map, BASE0, upper_left, left, &steps);
    }
    if (right == 0 && shape->height == upper_left) {
        return error; // as nearly always
    }
    if (error == 0 && right != 0) {
        error = check_tile(walk, map, BASE1, upper_right, right, &steps);
    }
    if (error == 0 && shape->height != upper_left) {
        error = check_tile(walk, map, BASE2, shape->height - upper_left, left, &steps);
    }
    if (error == 0 && right != 0 && shape->height != upper_right) {
        error = check_tile(walk, map, BASE3, shape->height - upper_right, right, &steps);
    }
    return error;
}

/* ---- operations ---- */

static void get_ofm(struct walk *walk, struct shape *ofm)
{
    ofm->height = get(walk, NPU_SET_OFM_HEIGHT_M1) + 1;
    ofm->width = get(walk, NPU_SET_OFM_WIDTH_M1) + 1;
    ofm->depth = get(walk, NPU_SET_OFM_DEPTH_M1) + 1;
}

/** Rows or columns of the IFM that those of the OFM are computed from; not positive: none. */
static int64_t input_size(struct walk *walk, uint32_t output, uint32_t stride,
                          uint32_t kernel_name, uint32_t pad_before, uint32_t pad_after)
{
    int64_t size = (int64_t)(output - 1) * stride + get(walk, kernel_name) + 1;
    size -= get(walk, pad_before);
    size -= get(walk, pad_after);
    return get(walk, NPU_SET_IFM_UPSCALE) == 0 ? size : (size + 1) / 2;
}

/** IFM and OFM of an operation with a kernel window. */
static int check_window(struct walk *walk, struct shape *ifm, struct shape *ofm)
{
    get_ofm(walk, ofm);
    uint32_t stride = get(walk, NPU_SET_KERNEL_STRIDE);
    uint32_t stride_x = 1 + (stride & 1) + (stride >> 5 & 2);
    uint32_t stride_y = 1 + (stride >> 1 & 1) + (stride >> 8 & 2);
    int64_t height = input_size(walk, ofm->height, stride_y, NPU_SET_KERNEL_HEIGHT_M1,
                                NPU_SET_IFM_PAD_TOP, NPU_SET_IFM_PAD_BOTTOM);
    int64_t width = input_size(walk, ofm->width, stride_x, NPU_SET_KERNEL_WIDTH_M1,
                               NPU_SET_IFM_PAD_LEFT, NPU_SET_IFM_PAD_RIGHT);
    ifm->depth = get(walk, NPU_SET_IFM_DEPTH_M1) + 1;
    if (walk->unset != 0 || height < 1 || width < 1) {
        return refuse(walk, ETHOSUX_E_COMMAND_VALUE, (uint64_t)(height < 1 ? height : width),
                      NPU_SET_IFM_PAD_BOTTOM);
    }
    ifm->height = (uint32_t)height;
    ifm->width = (uint32_t)width;
    int error = check_map(walk, &ifm_map, ifm);
    return error == 0 ? check_map(walk, &ofm_map, ofm) : error;
}

static int check_depth(struct walk *walk, uint32_t found, uint32_t expected)
{
    if (found != expected) {
        return refuse(walk, ETHOSUX_E_COMMAND_VALUE, found - 1, NPU_SET_IFM_DEPTH_M1);
    }
    return 0;
}

/** Does the second core take part? It reads streams of its own. */
static bool two_cores(struct walk *walk, uint32_t channels)
{
    return walk->u65 && get(walk, NPU_SET_PARALLEL_MODE) == 1 && channels > 1;
}

static int check_scales(struct walk *walk, uint32_t channels)
{
    int error = check_stream(walk, NPU_SET_SCALE_REGION, NPU_SET_SCALE_BASE,
                             NPU_SET_SCALE_LENGTH);
    if (error == 0 && two_cores(walk, channels)) {
        error = check_stream(walk, NPU_SET_SCALE_REGION, NPU_SET_SCALE1_BASE,
                             NPU_SET_SCALE1_LENGTH);
    }
    return error;
}

static int check_weights(struct walk *walk, uint32_t channels)
{
    int error = check_stream(walk, NPU_SET_WEIGHT_REGION, NPU_SET_WEIGHT_BASE,
                             NPU_SET_WEIGHT_LENGTH);
    if (error == 0 && two_cores(walk, channels)) {
        error = check_stream(walk, NPU_SET_WEIGHT_REGION, NPU_SET_WEIGHT1_BASE,
                             NPU_SET_WEIGHT1_LENGTH);
    }
    return error == 0 ? check_scales(walk, channels) : error;
}

static int check_conv(struct walk *walk, uint32_t param)
{
    struct shape ifm, ofm;
    (void)param;
    int error = check_window(walk, &ifm, &ofm);
    return error == 0 ? check_weights(walk, ofm.depth) : error;
}

static int check_depthwise(struct walk *walk, uint32_t param)
{
    struct shape ifm, ofm;
    (void)param;
    int error = check_window(walk, &ifm, &ofm);
    if (error == 0) {
        error = check_depth(walk, ifm.depth, ofm.depth);
    }
    return error == 0 ? check_weights(walk, ofm.depth) : error;
}

static int check_pool(struct walk *walk, uint32_t param)
{
    enum { REDUCE_SUM = 2, GLOBAL_SCALE = 1 << 8 };
    struct shape ifm, ofm;
    int error = check_window(walk, &ifm, &ofm);
    if (error == 0 && param != REDUCE_SUM) {
        error = check_depth(walk, ifm.depth, ofm.depth);
    }
    if (error == 0 && !(get(walk, NPU_SET_OFM_PRECISION) & GLOBAL_SCALE)) {
        error = check_scales(walk, ofm.depth);
    }
    return error;
}

static int check_ifm2(struct walk *walk, const struct shape *ofm)
{
    enum { BROADCAST_H = 1, BROADCAST_W = 2, BROADCAST_C = 4, SCALAR = 0x80 };
    uint32_t broadcast = get(walk, NPU_SET_IFM2_BROADCAST);
    if (broadcast & SCALAR) {
        return 0;
    }
    struct shape ifm2 = {
        broadcast & BROADCAST_H ? 1 : ofm->height,
        broadcast & BROADCAST_W ? 1 : ofm->width,
        broadcast & BROADCAST_C ? 1 : ofm->depth,
    };
    return check_map(walk, &ifm2_map, &ifm2);
}

static int check_elementwise(struct walk *walk, uint32_t param)
{
    enum { UNARY_FIRST = 5, UNARY_LAST = 7 }; // LRELU, ABS, CLZ
    struct shape ofm;
    get_ofm(walk, &ofm);
    int error = check_depth(walk, get(walk, NPU_SET_IFM_DEPTH_M1) + 1, ofm.depth);
    if (error == 0) {
        error = check_map(walk, &ifm_map, &ofm);
    }
    if (error == 0 && (param < UNARY_FIRST || param > UNARY_LAST)) {
        error = check_ifm2(walk, &ofm);
    }
    return error == 0 ? check_map(walk, &ofm_map, &ofm) : error;
}

/* ---- DMA ---- */

struct dma {
    int64_t length;
    int64_t rows;
    int64_t planes;
    int64_t skip0;
    int64_t skip1;
};

/** Region register: region [2:0], internal [8], dimensions - 1 [10:9]. */
#define DMA_REGION(value) ((value) & 7u)
#define DMA_INTERNAL 0x100u
#define DMA_DIMENSIONS_M1(value) ((value) >> 9 & 3u)

static int check_dma_end(struct walk *walk, const struct dma *dma, uint32_t region_name,
                         uint32_t address_name, bool write)
{
    const int64_t limit = INT64_C(1) << 42; // beyond any address, far from overflow
    uint32_t region = get(walk, region_name);
    uint32_t dimensions_m1 = DMA_DIMENSIONS_M1(region);
    int64_t base = get_address(walk, address_name);
    int64_t row = dma->length + (dimensions_m1 > 0 ? dma->skip0 : 0);
    int64_t plane = dma->rows * row + (dimensions_m1 > 1 ? dma->skip1 : 0);
    if (plane > limit || plane < -limit) {
        return refuse(walk, ETHOSUX_E_COMMAND_VALUE, (uint64_t)plane, region_name);
    }
    struct extent extent = {base, base + dma->length};
    widen(&extent, (dma->rows - 1) * row);
    widen(&extent, (dma->planes - 1) * plane);
    if (!(region & DMA_INTERNAL)) {
        return check_extent(walk, DMA_REGION(region), &extent, write);
    }
    if (!write || extent.low < 0 ||
        (walk->internal_bytes != 0 && extent.high > walk->internal_bytes)) {
        return refuse(walk, ETHOSUX_E_COMMAND_VALUE, (uint64_t)extent.high, region_name);
    }
    return 0;
}

static int check_dma(struct walk *walk, uint32_t param)
{
    (void)param;
    uint32_t source = DMA_DIMENSIONS_M1(get(walk, NPU_SET_DMA0_SRC_REGION));
    uint32_t target = DMA_DIMENSIONS_M1(get(walk, NPU_SET_DMA0_DST_REGION));
    uint32_t dimensions_m1 = source > target ? source : target;
    struct dma dma = {get_address(walk, NPU_SET_DMA0_LEN), 1, 1, 0, 0};
    if (dimensions_m1 > (walk->u65 ? 2u : 0u)) {
        return refuse(walk, ETHOSUX_E_COMMAND_VALUE, dimensions_m1, NPU_SET_DMA0_DST_REGION);
    }
    if (dimensions_m1 > 0) {
        dma.rows = get(walk, NPU_SET_DMA0_SIZE0);
        dma.skip0 = get_stride(walk, NPU_SET_DMA0_SKIP0);
    }
    if (dimensions_m1 > 1) {
        dma.planes = get(walk, NPU_SET_DMA0_SIZE1);
        dma.skip1 = get_stride(walk, NPU_SET_DMA0_SKIP1);
    }
    if (walk->unset != 0 || dma.rows == 0 || dma.planes == 0) {
        return refuse(walk, ETHOSUX_E_COMMAND_VALUE, 0, NPU_SET_DMA0_SIZE0);
    }
    int error = check_dma_end(walk, &dma, NPU_SET_DMA0_SRC_REGION, NPU_SET_DMA0_SRC, false);
    return error != 0 ? error
                      : check_dma_end(walk, &dma, NPU_SET_DMA0_DST_REGION, NPU_SET_DMA0_DST, true);
}

static int check_stop(struct walk *walk, uint32_t param)
{
    (void)param;
    walk->stopped = true;
    return 0;
}

static int check_nothing(struct walk *walk, uint32_t param)
{
    (void)walk;
    (void)param;
    return 0;
}

/* ---- the walk ---- */

struct operation {
    uint16_t largest;
    int (*check)(struct walk *walk, uint32_t param);
};

#define OPERATION(opcode, name, largest, check) [opcode] = {largest, check},
#define REGISTER(opcode, name, bits, products)
#define PAYLOAD(opcode, name, bits, products)
static const struct operation operations[] = {
#include "ethosu_commands.def"
};
#undef PAYLOAD
#undef REGISTER
#undef OPERATION

#define OPERATION_COUNT (sizeof operations / sizeof operations[0])

/** An operation, or a command that nobody knows. */
static int operate(struct walk *walk, uint32_t word)
{
    uint32_t code = CODE(word);
    uint32_t param = word >> 16;
    if (code - CODE_PAYLOAD < PAYLOAD_COUNT &&
        known(walk, payload_bits[code - CODE_PAYLOAD], param)) {
        return refuse(walk, ETHOSUX_E_COMMAND_CUT, 0, 0);
    }
    if (code >= OPERATION_COUNT || operations[code].check == NULL ||
        param > operations[code].largest) {
        return refuse(walk, ETHOSUX_E_COMMAND_UNKNOWN, word, 0);
    }
    int error = operations[code].check(walk, param);
    return walk->unset == 0 ? error : refuse(walk, ETHOSUX_E_COMMAND_UNSET, walk->unset, 0);
}

/** Walk to the STOP; setting registers is most of it, so that is done right here. */
static int run(struct walk *walk)
{
    uint32_t at = 0;
    while (at < walk->words) {
        uint32_t word = word_at(walk, at++);
        uint32_t param = word >> 16;
        uint32_t payload = CODE(word) - CODE_PAYLOAD;
        uint32_t plain = CODE(word) - REGISTER_FIRST;
        if (payload < PAYLOAD_COUNT && known(walk, payload_bits[payload], param) &&
            at < walk->words) {
            uint64_t high = param & walk->high_bits;
            walk->payloads[payload] = high << 32 | word_at(walk, at++);
        } else if (plain < REGISTER_COUNT && known(walk, register_bits[plain], param)) {
            walk->registers[plain] = param;
        } else {
            walk->at = at - 1;
            int error = operate(walk, word);
            if (error != 0 || walk->stopped) {
                return error;
            }
        }
    }
    return ethosux_refuse(walk->fault, ETHOSUX_E_COMMAND_NO_STOP, -1, walk->words, 0);
}

int ethosux_verify(const void *stream, size_t stream_bytes, uint32_t config, const size_t *size,
                   int count, uint32_t *written, struct ethosux_fault *fault)
{
    uint32_t product = NPU_CONFIG_PRODUCT(config);
    struct walk walk = {
        .stream = stream,
        .words = (uint32_t)(stream_bytes / 4),
        .size = size,
        .regions = (uint32_t)count,
        .u65 = product == 1,
        .high_bits = product == 1 ? 0xFF : 0,
        .bits_end = product == 1 ? 2 * PRODUCTS_U65 : PRODUCTS_U65,
        .internal_bytes = (config >> 8 & 0xFF) * 1024,
        .fault = fault,
    };
    if (product > 1) {
        return ethosux_refuse(fault, ETHOSUX_E_NO_VERIFIER, -1, config, config);
    }
    memset(walk.registers, 0xFF, sizeof walk.registers);
    memset(walk.payloads, 0xFF, sizeof walk.payloads);

    int error = run(&walk);
    if (written != NULL) {
        *written = walk.written;
    }
    return error;
}
