// SPDX-License-Identifier: MIT
/**
 * The verifier walks a command stream once, tracks the registers that it sets, and
 * checks at each operation that every access stays within its region. These parts
 * have no IOMMU, so this check confines the NPU to the caller's buffers.
 *
 * It models the hardware exactly (tiles, signed strides, bricks, padding,
 * upscaling, broadcast, all cores) and rejects anything unknown. Registers must be
 * set and lookup tables filled before use, also those that affect no access: what an
 * earlier stream left in the NPU does not count, or results would depend on it.
 */
#include "driver/verify/ethosu_verify.h"

#include "driver/base/ethosu_build.h"
#include "driver/base/ethosu_fault.h"

/** Groups of registers used together: first slot and number. */
static const struct {
    uint8_t first;
    uint8_t count;
} groups[] = {
    [SHAPE] = {NPU_SET_IFM_DEPTH_M1, 4},
    [OFM_SHAPE] = {NPU_SET_OFM_HEIGHT_M1, 3},
    [WINDOW] = {NPU_SET_IFM_PAD_TOP, 8},
    [IFM] = {NPU_SET_IFM_PRECISION, 8},
    [IFM2] = {NPU_SET_IFM2_PRECISION, 8},
    [OFM] = {NPU_SET_OFM_PRECISION, 8},
    [WEIGHTS] = {NPU_SET_WEIGHT_REGION, 3},
    [SCALES] = {NPU_SET_SCALE_REGION, 3},
    [WEIGHTS1] = {NPU_SET_WEIGHT1_BASE, 2},
    [SCALES1] = {NPU_SET_SCALE1_BASE, 2},
    [DMA] = {NPU_SET_DMA0_SRC_REGION, 5},
    [DMA_ROWS] = {NPU_SET_DMA0_SIZE0, 2},
    [DMA_PLANES] = {NPU_SET_DMA0_SIZE1, 2},
    [DMA_INDICES] = {NPU_SET_DMA0_IDX_REGION, 3},
    [KERNEL_SIZE] = {NPU_SET_KERNEL_WIDTH_M1, 2},
    [RESULT] = {NPU_SET_IFM_ZERO_POINT, 11},
    [RESULT_U85] = {NPU_SET_ACC_FORMAT, 11},
    [ACCUMULATORS] = {NPU_SET_ACC_FORMAT, 1},
    [OFM_SCALED] = {NPU_SET_OFM_SCALE, 1},
    [IFM2_BUFFER] = {NPU_SET_IFM2_IB_START, 1},
    [IFM_TYPE] = {NPU_SET_IFM_PRECISION, 1},
    [IFM2_TYPE] = {NPU_SET_IFM2_ZERO_POINT, 2},
    [SCALE_A] = {NPU_SET_OPA_SCALE, 1},
    [SCALE_AB] = {NPU_SET_OPA_SCALE, 2},
    [SCALE_IFM] = {NPU_SET_IFM_SCALE, 1},
    [SCALE_BOTH] = {NPU_SET_IFM_SCALE, 2},
    [SCALAR_U55] = {NPU_SET_IFM2_SCALAR, 1},
    [SCALAR_U85] = {NPU_SET_OP_SCALAR, 1},
    [RESIZING] = {NPU_SET_RESIZE_X_SCALE_N_M1, 6},
    [WEIGHTS_U85] = {NPU_SET_WEIGHT_FORMAT, 2},
};

/* ---- refusals ---- */

/** Index of the current word. */
static int index_of(const struct walk *walk)
{
    return (int)((walk->at - walk->stream) / 4);
}

int ethosu_ext_walk_refuse(struct walk *walk, int code, uint64_t found, uint64_t expected)
{
    return ethosu_ext_refuse_wide(walk->fault, code, index_of(walk), found, expected);
}

/** The command that sets a slot. */
static uint32_t code_of(const struct walk *walk, uint32_t slot)
{
    for (uint32_t code = 0; code < REGISTER_CODES; code++) {
        if (walk->commands->registers[code] == slot) {
            return REGISTER_FIRST + code;
        }
    }
    uint32_t code = 0;
    while (walk->commands->payloads[code] != slot) {
        code++;
    }
    return CODE_PAYLOAD | code;
}

int ethosu_ext_walk_refuse_value(struct walk *walk, uint64_t found, uint32_t slot)
{
    return ethosu_ext_walk_refuse(walk, ETHOSU_EXT_E_COMMAND_VALUE, found, code_of(walk, slot));
}

int ethosu_ext_walk_refuse_unset(struct walk *walk, uint32_t slot)
{
    return ethosu_ext_walk_refuse(walk, ETHOSU_EXT_E_COMMAND_UNSET, code_of(walk, slot), 0);
}

int ethosu_ext_walk_refuse_extent(struct walk *walk, struct extent extent)
{
    uint32_t region = extent.region;
    if (region >= walk->regions) {
        return ethosu_ext_walk_refuse(walk, ETHOSU_EXT_E_REGION_UNKNOWN, region, walk->regions);
    }
    struct ethosu_ext_fault bounds = {
        .code = ETHOSU_EXT_E_REGION_BOUNDS,
        .index = index_of(walk),
        .found = (uint64_t)(extent.low < 0 ? extent.low : extent.high),
        .expected = walk->size[region],
        .detail = region,
    };
    return ethosu_ext_report(walk->fault, &bounds);
}

/* ---- registers ---- */

/** Does a command before this one set the slot? Its value may be that of UNSET: a scale of 2^31. */
static bool is_set(const struct walk *walk, uint32_t slot)
{
    uint32_t code = code_of(walk, slot);
    uint32_t word;
    for (const uint8_t *at = walk->begin; at < walk->at; at += word & CODE_PAYLOAD ? 8 : 4) {
        word = word_at(at);
        if (CODE(word) == code) {
            return true;
        }
    }
    return false;
}

int ethosu_ext_walk_complete(struct walk *walk, uint32_t needed)
{
    for (uint32_t missing = needed & ~walk->ready; missing != 0; missing &= missing - 1) {
        uint32_t group = (uint32_t)__builtin_ctz(missing);
        for (uint32_t i = 0; i < groups[group].count; i++) {
            uint32_t slot = groups[group].first + i;
            if (walk->values[slot] == UNSET && !is_set(walk, slot)) {
                return ethosu_ext_walk_refuse_unset(walk, slot);
            }
        }
    }
    walk->ready |= needed;
    return 0;
}

/* ---- lookup tables ---- */

/* walk->tables has a bit for each granule; tables begin and end at whole elements of it. */
#define GRANULE 16u
#define TABLE_UNIT (16 * GRANULE)

void ethosu_ext_walk_fill_table(struct walk *walk, uint32_t at, uint32_t bytes)
{
    if (at >= LUT_BYTES || bytes > LUT_BYTES - at) {
        return; // another part of the internal memory
    }
    uint32_t end = (at + bytes) / GRANULE;
    uint32_t count;
    for (uint32_t granule = (at + GRANULE - 1) / GRANULE; granule < end; granule += count) {
        uint32_t first = granule % 16;
        count = end - granule < 16 - first ? end - granule : 16 - first;
        walk->tables[granule / 16] |= (uint16_t)(((1u << count) - 1) << first);
    }
}

int ethosu_ext_walk_table(struct walk *walk, uint32_t at, uint32_t bytes)
{
    if (at + bytes > LUT_BYTES) {
        return ethosu_ext_walk_refuse_value(walk, get(walk, NPU_SET_ACTIVATION),
                                            NPU_SET_ACTIVATION);
    }
    for (uint32_t unit = at / TABLE_UNIT; unit < (at + bytes) / TABLE_UNIT; unit++) {
        uint32_t missing = UINT16_MAX & ~(uint32_t)walk->tables[unit];
        if (missing != 0) {
            uint32_t byte = unit * TABLE_UNIT + (uint32_t)__builtin_ctz(missing) * GRANULE;
            return ethosu_ext_walk_refuse(walk, ETHOSU_EXT_E_TABLE_UNFILLED, byte, 0);
        }
    }
    return 0;
}

/* ---- the walk ---- */

int ethosu_ext_walk_ignore(struct walk *walk, uint32_t word)
{
    (void)walk;
    (void)word;
    return 0;
}

int ethosu_ext_walk_stop(struct walk *walk, uint32_t word)
{
    (void)word;
    walk->stopped = true;
    return 0;
}

/** Slot set by a command word; NO_SLOT if the product does not have the command. */
static uint32_t slot_of(const struct walk *walk, uint32_t word)
{
    const struct ethosu_ext_commands *commands = walk->commands;
    uint32_t code = CODE(word) - REGISTER_FIRST;
    uint32_t opcode = CODE(word) - CODE_PAYLOAD;
    uint32_t slot = code < REGISTER_CODES    ? commands->registers[code]
                    : opcode < PAYLOAD_CODES ? commands->payloads[opcode]
                                             : NO_SLOT;
    return slot > U65_SLOT_LAST || !walk->narrow ? slot : NO_SLOT;
}

int ethosu_ext_walk_refuse_command(struct walk *walk, uint32_t word)
{
    uint32_t slot = slot_of(walk, word);
    if (slot == NO_SLOT || !(word & CODE_PAYLOAD) ||
        (PARAM(word) & walk->commands->zeros[slot] & 0xFF00) != 0) {
        return ethosu_ext_walk_refuse(walk, ETHOSU_EXT_E_COMMAND_UNKNOWN, word, 0);
    }
    if (walk->at == walk->end - 4) {
        return ethosu_ext_walk_refuse(walk, ETHOSU_EXT_E_COMMAND_CUT, 0, 0);
    }
    uint64_t high = PARAM(word);
    return ethosu_ext_walk_refuse_value(walk, high << 32 | word_at(walk->at + 4), slot);
}

static int operate(struct walk *walk, uint32_t word)
{
    const struct ethosu_ext_commands *commands = walk->commands;
    uint32_t code = CODE(word);
    const struct operation *operation = &commands->operations[code];
    if (code >= commands->operation_count || operation->check == NULL ||
        PARAM(word) > operation->largest) {
        return commands->other(walk, word);
    }
    RETURN_IF_ERROR(require(walk, operation->needs));
    return operation->check(walk, word);
}

/**
 * Check registers after the walk from `at`. The fast path checks only parameters,
 * not whether a register exists on this product.
 */
static int check_known(struct walk *walk, const uint8_t *at, const uint8_t *end)
{
    int32_t strange = walk->values[NO_SLOT] ^ UNSET;
    for (uint32_t slot = 1; walk->narrow && slot <= U65_SLOT_LAST; slot++) {
        strange |= walk->values[slot] ^ UNSET;
    }
    uint32_t word = 0;
    for (; strange != 0 && at < end; at += word & CODE_PAYLOAD ? 8 : 4) {
        word = word_at(at);
        bool sets = CODE(word) - REGISTER_FIRST < REGISTER_CODES ||
                    CODE(word) - CODE_PAYLOAD < PAYLOAD_CODES;
        if (sets && slot_of(walk, word) == NO_SLOT) {
            walk->at = at;
            return ethosu_ext_walk_refuse(walk, ETHOSU_EXT_E_COMMAND_UNKNOWN, word, 0);
        }
    }
    return 0;
}

/** Signed 40-bit strides must fit into 32 bits here. */
static bool fits(uint32_t word, uint32_t low)
{
    return (uint8_t)PARAM(word) == (uint8_t)((int32_t)low >> 31);
}

static void forget(struct walk *walk)
{
    for (uint32_t slot = 0; slot < SLOTS; slot += 4) { // -Os unrolls nothing
        walk->values[slot] = UNSET;
        walk->values[slot + 1] = UNSET;
        walk->values[slot + 2] = UNSET;
        walk->values[slot + 3] = UNSET;
    }
    walk->kept[DEPTH_M1] = 0;
    walk->ready = 0;
    walk->chained = 0;
    walk->stopped = false;
}

static __attribute__((noinline)) int run(struct walk *walk, const uint8_t *at, const uint8_t *end)
{
    const uint8_t *const registers = walk->commands->registers;
    const uint8_t *const payloads = walk->commands->payloads;
    const uint16_t *const zeros = walk->commands->zeros;
    const bool narrow = walk->narrow;
    // The last word is an operation, normally a STOP: nothing uses a register that it sets.
    const uint8_t *const last = walk->end - 4;
    end = end < last ? end : last;

    for (;;) {
        uint32_t word = 0;
        // Most commands set registers, so that is handled inline.
        while (at < end) {
            word = word_at(at);
            uint32_t code = CODE(word) - REGISTER_FIRST;
            if (code < REGISTER_CODES) {
                uint32_t slot = registers[code];
                if (__builtin_expect((PARAM(word) & zeros[slot]) != 0, 0)) {
                    break;
                }
                at += 4;
                walk->values[slot] = (int32_t)PARAM(word);
                continue;
            }
            code = CODE(word) - CODE_PAYLOAD;
            if (code >= PAYLOAD_CODES) {
                break;
            }
            uint32_t slot = payloads[code];
            uint32_t value = word_at(at + 4);
            // Registers with must-be-zero bits are unsigned.
            if (__builtin_expect(slot == NO_SLOT || (PARAM(word) & zeros[slot]) != 0, 0) ||
                (zeros[slot] == 0 && !narrow && !fits(word, value))) {
                break;
            }
            at += 8;
            walk->values[slot] = (int32_t)value;
        }
        if (at >= end) {
            word = at == last ? word_at(at) : REGISTER_FIRST;
            if (CODE(word) - REGISTER_FIRST < REGISTER_CODES) {
                return 0;
            }
        }
        walk->at = at;
        int error = operate(walk, word);
        if (error != 0 || walk->stopped) {
            return error;
        }
        at = walk->at + 4;
    }
}

int ethosu_ext_walk_run(struct walk *walk, const uint8_t *at, const uint8_t *end)
{
    forget(walk);
    walk->begin = at;
    int error = run(walk, at, end);
    int unknown = check_known(walk, at, error != 0 || walk->stopped ? walk->at : end);
    return unknown != 0 ? unknown : error;
}

int ethosu_ext_walk_straight(struct walk *walk)
{
    return ethosu_ext_walk_run(walk, walk->stream, walk->end);
}
