// SPDX-License-Identifier: MIT
/**
 * Verifier: the operations of Ethos-U85 and their accesses.
 *
 * Two things are known only at run time. Gather and scatter indices are bounded by
 * IDX_MAX, which the NPU enforces. Branches may go to the start of any command of
 * the stream; register values are not tracked across them, so registers must be
 * set again after a target. A stream that branches back may loop forever, but only
 * within the stream, until the time-out ends it.
 */
#include "driver/verify/ethosu_verify.h"
#include "driver/base/ethosu_count.h"

/* ---- feature maps ---- */

/** Location of a feature map: PRECISION [15:14]. 3x1 tiles are undocumented and rejected. */
enum { TILE_2X2, TILE_3X1, CHAINED, NONE };

#define STORAGE(precision) ((precision) >> 14 & 3u)
#define CHAIN_BUFFERS 6u

/** A map is given by its first slot. */
static uint32_t storage_of(const struct walk *walk, uint32_t map)
{
    return STORAGE(get(walk, map + PRECISION));
}

/** The chain buffer that replaces a map; `written` is required for inputs. */
static int check_chained(struct walk *walk, uint32_t map, uint32_t written)
{
    RETURN_IF_ERROR(require_slot(walk, map + REGION));
    uint32_t buffer = get(walk, map + REGION);
    if (buffer >= CHAIN_BUFFERS || !(written >> buffer & 1)) {
        return ethosu_ext_walk_refuse_value(walk, buffer, map + REGION);
    }
    return 0;
}

/** The group with the type of a map, given that with all of it. */
#define TYPE(group) (1u << ((group) == IFM ? IFM_TYPE : IFM2_TYPE))

/** Check an input; `group` is the group of `map`. */
static int check_input(struct walk *walk, uint32_t map, enum group group, const int32_t *shape)
{
    RETURN_IF_ERROR(require(walk, TYPE(group)));
    uint32_t storage = storage_of(walk, map);
    if (storage == CHAINED) {
        return check_chained(walk, map, walk->chained);
    }
    if (storage != TILE_2X2) {
        return ethosu_ext_walk_refuse_value(walk, get(walk, map), map);
    }
    RETURN_IF_ERROR(require(walk, 1u << group));
    return ethosu_ext_walk_map(walk, walk->values + map, MAP_READ, shape);
}

/** OFM_PRECISION [13:11]: the operation's dimensions for height, width, depth in memory. */
static const uint8_t transposes[8][3] = {
    [0] = {HEIGHT_M1, WIDTH_M1, DEPTH_M1}, [1] = {WIDTH_M1, HEIGHT_M1, DEPTH_M1},
    [2] = {HEIGHT_M1, DEPTH_M1, WIDTH_M1}, [3] = {WIDTH_M1, DEPTH_M1, HEIGHT_M1},
    [6] = {DEPTH_M1, HEIGHT_M1, WIDTH_M1}, [7] = {DEPTH_M1, WIDTH_M1, HEIGHT_M1},
};

static int check_output_map(struct walk *walk)
{
    uint32_t precision = get(walk, NPU_SET_OFM_PRECISION);
    const uint8_t *from = transposes[precision >> 11 & 7];
    const int32_t *shape = walk->values + NPU_SET_OFM_HEIGHT_M1;
    if (from[1] == from[2]) {
        return ethosu_ext_walk_refuse_value(walk, precision, NPU_SET_OFM_PRECISION);
    }
    RETURN_IF_ERROR(require(walk, 1u << OFM));
    int32_t ofm[] = {shape[from[0]], shape[from[1]], shape[from[2]]};
    return check_ofm(walk, ofm);
}

static int check_output(struct walk *walk)
{
    RETURN_IF_ERROR(require_slot(walk, NPU_SET_OFM_PRECISION));
    uint32_t precision = get(walk, NPU_SET_OFM_PRECISION);
    switch (STORAGE(precision)) {
    case NONE:
        return 0;
    case TILE_2X2:
        return check_output_map(walk);
    case TILE_3X1:
        return ethosu_ext_walk_refuse_value(walk, precision, NPU_SET_OFM_PRECISION);
    default:
        break;
    }
    RETURN_IF_ERROR(check_chained(walk, NPU_SET_OFM_PRECISION, UINT32_MAX));
    walk->chained |= 1u << get(walk, NPU_SET_OFM_REGION);
    return 0;
}

/* ---- weights, scales, tables ---- */

/** Weights of one core: base and length are two slots. */
static int check_weight_stream(struct walk *walk, uint32_t slot)
{
    int error = require_slot(walk, slot + 1);
    if (error != 0 || get(walk, slot + 1) == 0) { // a core without weights has no base
        return error;
    }
    RETURN_IF_ERROR(require_slot(walk, slot));
    return check_stream(walk, get(walk, NPU_SET_WEIGHT_REGION), slot);
}

static int check_weights(struct walk *walk)
{
    static const uint8_t streams[] = {NPU_SET_WEIGHT_BASE, NPU_SET_WEIGHT1_BASE,
                                      NPU_SET_WEIGHT2_BASE, NPU_SET_WEIGHT3_BASE};
    RETURN_IF_ERROR(require(walk, 1u << WEIGHTS_U85));
    for (uint32_t core = 0; core < walk->cores; core++) {
        RETURN_IF_ERROR(check_weight_stream(walk, streams[core]));
    }
    return 0;
}

/** Scales per channel; a single scale is in a register. */
static int check_scales(struct walk *walk)
{
    enum { GLOBAL = 1 << 8 };
    if (get(walk, NPU_SET_OFM_PRECISION) & GLOBAL) {
        return 0;
    }
    RETURN_IF_ERROR(require(walk, 1u << SCALES));
    return check_stream(walk, get(walk, NPU_SET_SCALE_REGION), NPU_SET_SCALE_BASE);
}

/** ACTIVATION: function [4:0], table [7:5], in units of the function's table size. */
static int check_table(struct walk *walk)
{
    static const uint8_t size_log2[] = {
        [1] = 8, [4] = 8, [5] = 9, [7] = 10, [8] = 11, [9] = 11, [10] = 11, [11] = 11};
    uint32_t activation = get(walk, NPU_SET_ACTIVATION);
    uint32_t function = activation & 0x1F;
    uint32_t table = activation >> 5 & 7;
    if (function == 0) {
        return 0;
    }
    if (function >= sizeof size_log2 || size_log2[function] == 0) {
        return ethosu_ext_walk_refuse_value(walk, activation, NPU_SET_ACTIVATION);
    }
    return ethosu_ext_walk_table(walk, table << size_log2[function], 1u << size_log2[function]);
}

/** Check the outputs, common to all operations except DMA. */
static int check_result(struct walk *walk)
{
    RETURN_IF_ERROR(check_output(walk));
    RETURN_IF_ERROR(check_scales(walk));
    return check_table(walk);
}

/* ---- operations ---- */

/** IFM2 as the weights of a CONV: a row of as many vectors as the OFM has channels. */
static int check_matrix(struct walk *walk)
{
    int32_t ifm2[] = {
        [HEIGHT_M1] = 0,
        [WIDTH_M1] = walk->values[NPU_SET_OFM_DEPTH_M1],
        [DEPTH_M1] = walk->values[NPU_SET_IFM_DEPTH_M1],
    };
    return check_input(walk, NPU_SET_IFM2_PRECISION, IFM2, ifm2);
}

/** ACC_FORMAT: begin with [5:4], leave [6]. */
enum { ACC_KEPT = 1, ACC_FROM_IFM2 = 2 };
#define ACC_BEGIN(format) ((format) >> 4 & 3)
#define ACC_LEAVE 0x40u

/**
 * Accumulators may begin with those that the operation before left, of the same shape, or with
 * IFM2, one value per OFM element.
 */
static int check_accumulators(struct walk *walk)
{
    uint32_t format = get(walk, NPU_SET_ACC_FORMAT);
    const int32_t *ofm = walk->values + NPU_SET_OFM_HEIGHT_M1;
    if (!(format & 0x70)) {
        walk->kept[DEPTH_M1] = 0;
        return 0;
    }
    bool fits = walk->kept[HEIGHT_M1] == ofm[HEIGHT_M1] && walk->kept[WIDTH_M1] == ofm[WIDTH_M1] &&
                walk->kept[DEPTH_M1] == ofm[DEPTH_M1] + 1;
    if (ACC_BEGIN(format) == ACC_KEPT && !fits) {
        return ethosu_ext_walk_refuse_value(walk, format, NPU_SET_ACC_FORMAT);
    }
    walk->kept[HEIGHT_M1] = ofm[HEIGHT_M1];
    walk->kept[WIDTH_M1] = ofm[WIDTH_M1];
    walk->kept[DEPTH_M1] = format & ACC_LEAVE ? ofm[DEPTH_M1] + 1 : 0;
    return ACC_BEGIN(format) == ACC_FROM_IFM2 ? check_input(walk, NPU_SET_IFM2_PRECISION, IFM2, ofm)
                                              : 0;
}

static int check_kernel(struct walk *walk)
{
    int32_t ifm[3];
    RETURN_IF_ERROR(ethosu_ext_walk_window(walk, ifm));
    RETURN_IF_ERROR(check_input(walk, NPU_SET_IFM_PRECISION, IFM, ifm));
    RETURN_IF_ERROR(check_accumulators(walk));
    return check_result(walk);
}

static int check_conv(struct walk *walk, uint32_t word)
{
    enum { WEIGHTS_FROM_IFM2 = 1 };
    RETURN_IF_ERROR(check_kernel(walk));
    return PARAM(word) == WEIGHTS_FROM_IFM2 ? check_matrix(walk) : check_weights(walk);
}

static int check_depthwise(struct walk *walk, uint32_t word)
{
    (void)word;
    RETURN_IF_ERROR(ethosu_ext_walk_depth(walk));
    RETURN_IF_ERROR(check_kernel(walk));
    return check_weights(walk);
}

/**
 * REDUCE_SUM cannot use 48-bit accumulators: Vela 5.1 asserts it (GeneratePoolingOp() of
 * ethos_u85_register_cs_generator.cpp), and fixed 5.0, whose results were zero on Arm's model. It
 * endangers no memory, but a chip would not report the wrong result.
 */
static int check_reduce_sum(struct walk *walk)
{
    enum { FORMAT_48 = 1 };
    return (get(walk, NPU_SET_ACC_FORMAT) & 3) == FORMAT_48
               ? ethosu_ext_walk_refuse(walk, ETHOSU_EXT_E_REDUCE_SUM_48, 0, 0)
               : 0;
}

static int check_pool(struct walk *walk, uint32_t word)
{
    enum { REDUCE_SUM = 2 };
    RETURN_IF_ERROR(PARAM(word) == REDUCE_SUM ? check_reduce_sum(walk)
                                              : ethosu_ext_walk_depth(walk));
    return check_kernel(walk);
}

/** An input of the OFM's shape, unless broadcast. */
static int check_operand(struct walk *walk, uint32_t map, enum group group, uint32_t broadcast_slot)
{
    enum { BROADCAST_H = 1, BROADCAST_W = 2, BROADCAST_C = 4, SCALAR = 8 };
    const int32_t *ofm = walk->values + NPU_SET_OFM_HEIGHT_M1;
    int32_t broadcast = walk->values[broadcast_slot];
    RETURN_IF_ERROR(require_slot(walk, broadcast_slot));
    RETURN_IF_ERROR(require(walk, TYPE(group)));
    if (broadcast == SCALAR && storage_of(walk, map) == NONE) {
        return require(walk, 1u << SCALAR_U85);
    }
    int32_t shape[] = {
        [HEIGHT_M1] = broadcast & BROADCAST_H ? 0 : ofm[HEIGHT_M1],
        [WIDTH_M1] = broadcast & BROADCAST_W ? 0 : ofm[WIDTH_M1],
        [DEPTH_M1] = broadcast & BROADCAST_C ? 0 : ofm[DEPTH_M1],
    };
    return check_input(walk, map, group, shape);
}

#define BIT(mode) (UINT64_C(1) << (mode))

/** MUL to SHL, LSR, DIV; comparisons; AND, OR, XOR, NOT; AND_NOT. */
static const uint64_t elementwise_modes = 0xFFF | 0xFull << 16 | 0xFull << 33 | BIT(42);
/** LRELU, ABS, CLZ, NOT. */
static const uint64_t elementwise_unary = BIT(5) | BIT(6) | BIT(7) | BIT(36);
enum { LRELU = 5 }; // has a scale for numbers below zero

static int check_elementwise(struct walk *walk, uint32_t word)
{
    uint32_t mode = PARAM(word);
    if (!(elementwise_modes >> mode & 1)) {
        return ethosu_ext_walk_refuse(walk, ETHOSU_EXT_E_COMMAND_UNKNOWN, word, 0);
    }
    bool unary = (elementwise_unary >> mode & 1) != 0;
    RETURN_IF_ERROR(require(walk, 1u << (unary && mode != LRELU ? SCALE_IFM : SCALE_BOTH)));
    RETURN_IF_ERROR(check_operand(walk, NPU_SET_IFM_PRECISION, IFM, NPU_SET_IFM_BROADCAST));
    uint32_t second = TILE_2X2;
    if (!unary) {
        RETURN_IF_ERROR(check_operand(walk, NPU_SET_IFM2_PRECISION, IFM2, NPU_SET_IFM2_BROADCAST));
        second = storage_of(walk, NPU_SET_IFM2_PRECISION);
    }
    if (storage_of(walk, NPU_SET_IFM_PRECISION) == TILE_2X2 && second != CHAINED) {
        RETURN_IF_ERROR(require(walk, 1u << SHAPE)); // IFM_DEPTH counts
    }
    return check_result(walk);
}

/** The kernel has the size of the IFM, so no step can leave the IFM. */
static int check_resize(struct walk *walk, uint32_t word)
{
    (void)word;
    RETURN_IF_ERROR(ethosu_ext_walk_depth(walk));
    RETURN_IF_ERROR(require(walk, 1u << KERNEL_SIZE));
    int32_t ifm[] = {
        [HEIGHT_M1] = walk->values[NPU_SET_KERNEL_HEIGHT_M1],
        [WIDTH_M1] = walk->values[NPU_SET_KERNEL_WIDTH_M1],
        [DEPTH_M1] = walk->values[NPU_SET_IFM_DEPTH_M1],
    };
    RETURN_IF_ERROR(check_input(walk, NPU_SET_IFM_PRECISION, IFM, ifm));
    return check_result(walk);
}

/* ---- tables ---- */

/** Groups that operations always need. Maps and streams are checked on demand. */
enum {
    FOR_RESIZE = 1 << SHAPE | 1 << RESULT_U85 | 1 << RESIZING,
    FOR_KERNEL = 1 << SHAPE | 1 << WINDOW | 1 << RESULT_U85,
    FOR_ELEMENTWISE = 1 << OFM_SHAPE | 1 << RESULT_U85
};

static const struct operation operations[] = {
    [NPU_OP_STOP] = {0, 0xFFFF, ethosu_ext_walk_stop},  // mask of interrupts
    [NPU_OP_IRQ] = {0, 0xFFFF, ethosu_ext_walk_ignore}, // the same
    [NPU_OP_CONV] = {FOR_KERNEL, 1, check_conv},        // weights from IFM2?
    [NPU_OP_DEPTHWISE] = {FOR_KERNEL, 0, check_depthwise},
    [NPU_OP_POOL] = {FOR_KERNEL, 7, check_pool},                     // mode
    [NPU_OP_ELEMENTWISE] = {FOR_ELEMENTWISE, 42, check_elementwise}, // mode
    [NPU_OP_RESIZE] = {FOR_RESIZE, 2, check_resize},                 // mode
    [NPU_OP_DMA_START] = {1 << DMA, 0, ethosu_ext_walk_dma_u85},
    [NPU_OP_DMA_WAIT] = {0, 3, ethosu_ext_walk_ignore},
    [NPU_OP_KERNEL_WAIT] = {0, 1, ethosu_ext_walk_ignore},
    [NPU_OP_PMU_MASK] = {0, 1, ethosu_ext_walk_ignore},
};

#define IN_U5_U6_U8(...) __VA_ARGS__
#define IN_U5_U6(...)
#define IN_U6(...)
#define IN_U6_U8(...) __VA_ARGS__
#define IN_U8(...) __VA_ARGS__
#define BITS(bits, bits85) bits85
#include "driver/verify/ethosu_verify_tables.def"

const struct ethosu_ext_commands ethosu_ext_commands_U85 = {
    .registers = registers,
    .payloads = payloads,
    .zeros = zeros,
    .operations = operations,
    .operation_count = COUNT(operations),
    .size_log2_max = 3,
    .other = ethosu_ext_walk_branch,
    .walk = ethosu_ext_walk_pieces,
};
