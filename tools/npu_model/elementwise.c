// SPDX-License-Identifier: MIT
/** NPU_OP_ELEMENTWISE: one table row per mode. */
#include <string.h>

#include "clones.h"
#include "npu_internal.h"
#include "operation.h"
#include "output.h"
#include "requant.h"

enum mode { MUL, ADD, SUB, MIN, MAX, LRELU, ABS, CLZ, SHR, SHL, MODE_COUNT };

enum {
    RAW_VALUES = 256, /**< that 8-bit elements can have */
    BROADCAST_H = 1 << 0,
    BROADCAST_W = 1 << 1,
    BROADCAST_C = 1 << 2,
    BROADCAST_SWAP = 1 << 6, /**< IFM2 is the left operand */
    BROADCAST_SCALAR = 1 << 7,
};

/** How ADD and SUB bring their operands to one scale. */
enum scale_mode { SCALE_BOTH_16 = 0, SCALE_A_32 = 1, SCALE_B_32 = 2 };

struct elementwise {
    enum mode mode;
    struct npu_output output;
    struct npu_feature_map ifm, ifm2;
    uint32_t broadcast;
    int32_t scalar; /**< IFM2_SCALAR with its zero point subtracted */
    enum scale_mode scale_mode;
    enum npu_rounding ifm_rounding;
    struct npu_scale ofm_scale, a_scale, b_scale;
    size_t row;        /**< elements of an OFM row */
    int32_t *operand;  /**< IFM row */
    int32_t *operand2; /**< IFM2 row, broadcast */

    /* The way of 8-bit operands, whose results fit 32 bits before the output
     * stage. */
    bool quick;
    struct npu_requant requant;
    int32_t a_scaled[RAW_VALUES], b_scaled[RAW_VALUES]; /**< ADD and SUB: by raw value */
    int32_t a_first, b_first;                           /**< smallest value of each operand */
};

typedef void (*row_function_t)(const struct elementwise *op, const int32_t *a, const int32_t *b,
                               int64_t *out);

typedef void (*quick_function_t)(const struct elementwise *op, const int32_t *a, const int32_t *b,
                                 int32_t *out);

/** What a mode is. */
struct mode_row {
    row_function_t compute; /**< a row up to and including the scaling */
    bool binary;
    bool ofm_scale;         /**< uses OFM_SCALE */
    bool only_32;           /**< takes 32-bit operands only */
    quick_function_t quick; /**< a row of 8-bit operands up to the scaling, or NULL */
};

static void scale_row(const struct elementwise *op, int64_t *out)
{
    npu_scale_all(out, op->row, op->ofm_scale, op->output.rounding);
}

/** A 32-bit product is only shifted: the multiplier is not used. */
static void compute_mul(const struct elementwise *op, const int32_t *a, const int32_t *b,
                        int64_t *out)
{
    for (size_t i = 0; i < op->row; i++) {
        out[i] = (int64_t)a[i] * b[i];
    }
    struct npu_scale scale = op->ofm_scale;
    if (op->ifm.bits == 32) {
        scale.multiplier = 1;
    }
    npu_scale_all(out, op->row, scale, op->output.rounding);
}

/** One operand is scaled with 32 bits after it was shifted up; the other is
 * shifted to match. */
static int64_t scaled_operand(const struct elementwise *op, int64_t value, struct npu_scale scale,
                              enum scale_mode mine)
{
    unsigned up = op->ifm.bits == 8 ? 20 : 15;
    if (op->scale_mode == SCALE_BOTH_16) {
        return value * (uint16_t)scale.multiplier;
    }
    if (op->scale_mode != mine) {
        return value * ((int64_t)1 << (up - 1));
    }
    return npu_round_scale(value * ((int64_t)1 << up),
                           (struct npu_scale){scale.multiplier, (uint8_t)(scale.shift + up)},
                           op->ifm_rounding);
}

static void add_scaled(const struct elementwise *op, const int32_t *a, const int32_t *b,
                       int64_t sign, int64_t *out)
{
    for (size_t i = 0; i < op->row; i++) {
        out[i] = scaled_operand(op, a[i], op->a_scale, SCALE_A_32) +
                 sign * scaled_operand(op, b[i], op->b_scale, SCALE_B_32);
    }
    scale_row(op, out);
}

static void compute_add(const struct elementwise *op, const int32_t *a, const int32_t *b,
                        int64_t *out)
{
    add_scaled(op, a, b, 1, out);
}

static void compute_sub(const struct elementwise *op, const int32_t *a, const int32_t *b,
                        int64_t *out)
{
    add_scaled(op, a, b, -1, out);
}

static void compute_min(const struct elementwise *op, const int32_t *a, const int32_t *b,
                        int64_t *out)
{
    for (size_t i = 0; i < op->row; i++) {
        out[i] = a[i] < b[i] ? a[i] : b[i];
    }
}

static void compute_max(const struct elementwise *op, const int32_t *a, const int32_t *b,
                        int64_t *out)
{
    for (size_t i = 0; i < op->row; i++) {
        out[i] = a[i] > b[i] ? a[i] : b[i];
    }
}

static void compute_lrelu(const struct elementwise *op, const int32_t *a, const int32_t *b,
                          int64_t *out)
{
    (void)b;
    for (size_t i = 0; i < op->row; i++) {
        out[i] = a[i] < 0 ? npu_round_scale(a[i], op->ofm_scale, op->output.rounding) : a[i];
    }
}

static void compute_abs(const struct elementwise *op, const int32_t *a, const int32_t *b,
                        int64_t *out)
{
    (void)b;
    for (size_t i = 0; i < op->row; i++) {
        out[i] = a[i] < 0 ? -(int64_t)a[i] : a[i];
    }
    scale_row(op, out);
}

static void compute_clz(const struct elementwise *op, const int32_t *a, const int32_t *b,
                        int64_t *out)
{
    (void)b;
    for (size_t i = 0; i < op->row; i++) {
        out[i] = a[i] < 0 ? 0 : a[i] == 0 ? 32 : __builtin_clz((unsigned)a[i]);
    }
}

static void compute_shr(const struct elementwise *op, const int32_t *a, const int32_t *b,
                        int64_t *out)
{
    for (size_t i = 0; i < op->row; i++) {
        unsigned shift = (unsigned)npu_clamp(b[i], 0, 63);
        out[i] = npu_round_scale(a[i], (struct npu_scale){1, (uint8_t)shift}, op->output.rounding);
    }
}

static void compute_shl(const struct elementwise *op, const int32_t *a, const int32_t *b,
                        int64_t *out)
{
    for (size_t i = 0; i < op->row; i++) {
        unsigned shift = (unsigned)npu_clamp(b[i], 0, 32);
        out[i] = (int32_t)(uint32_t)((uint64_t)(uint32_t)a[i] << shift);
    }
}

NPU_CLONES static void quick_mul(const struct elementwise *op, const int32_t *a, const int32_t *b,
                                 int32_t *out)
{
    for (size_t i = 0; i < op->row; i++) {
        out[i] = a[i] * b[i];
    }
}

NPU_CLONES static void quick_sum(const struct elementwise *op, const int32_t *a, const int32_t *b,
                                 int32_t *out)
{
    for (size_t i = 0; i < op->row; i++) {
        out[i] = op->a_scaled[a[i] - op->a_first] + op->b_scaled[b[i] - op->b_first];
    }
}

static const struct mode_row modes[MODE_COUNT] = {
    [MUL] = {compute_mul, true, true, false, quick_mul},
    [ADD] = {compute_add, true, true, false, quick_sum},
    [SUB] = {compute_sub, true, true, false, quick_sum},
    [MIN] = {compute_min, true, false, false, NULL},
    [MAX] = {compute_max, true, false, false, NULL},
    [LRELU] = {compute_lrelu, false, true, false, NULL},
    [ABS] = {compute_abs, false, true, false, NULL},
    [CLZ] = {compute_clz, false, false, true, NULL},
    [SHR] = {compute_shr, true, false, true, NULL},
    [SHL] = {compute_shl, true, false, true, NULL},
};

static bool decode_scalar(struct npu *npu, struct elementwise *op)
{
    uint64_t scalar;
    if (!npu_decode_ifm2_type(npu, &op->ifm2) || !npu_get(npu, NPU_SET_IFM2_SCALAR, &scalar)) {
        return false;
    }
    int32_t value = op->ifm2.is_signed ? (int16_t)scalar : (uint16_t)scalar;
    op->scalar = value - op->ifm2.zero_point;
    return true;
}

static bool decode_ifm2(struct npu *npu, struct elementwise *op)
{
    uint64_t broadcast;
    if (!npu_get(npu, NPU_SET_IFM2_BROADCAST, &broadcast)) {
        return false;
    }
    op->broadcast = (uint32_t)broadcast;
    const struct npu_feature_map *ofm = &op->output.map;
    op->ifm2.height = (broadcast & BROADCAST_H) != 0 ? 1 : ofm->height;
    op->ifm2.width = (broadcast & BROADCAST_W) != 0 ? 1 : ofm->width;
    op->ifm2.depth = (broadcast & BROADCAST_C) != 0 ? 1 : ofm->depth;
    bool scalar = (broadcast & BROADCAST_SCALAR) != 0;
    if (!(scalar ? decode_scalar(npu, op) : npu_decode_ifm2(npu, &op->ifm2))) {
        return false;
    }
    return op->ifm2.bits == op->ifm.bits ||
           npu_fail(npu, NPU_FAULT_PARSE, "has a %u-bit IFM but a %u-bit IFM2", op->ifm.bits,
                    op->ifm2.bits);
}

/** OPA_SCALE and OPB_SCALE, as far as the scale mode uses them. */
static bool decode_operand_scales(struct npu *npu, struct elementwise *op)
{
    uint32_t mode;
    uint64_t a = 0;
    uint64_t b = 0;
    if (!npu_get_field(npu, NPU_FIELD_OPERAND_SCALE_MODE, &mode)) {
        return false;
    }
    op->scale_mode = (enum scale_mode)mode;
    if (mode > SCALE_B_32 || (mode != SCALE_BOTH_16 && op->ifm.bits == 32)) {
        return npu_fail(npu, NPU_FAULT_PARSE, "has IFM scale mode %u with a %u-bit IFM", mode,
                        op->ifm.bits);
    }
    if (!npu_get(npu, NPU_SET_OPA_SCALE, &a) ||
        (mode == SCALE_BOTH_16 && !npu_get(npu, NPU_SET_OPB_SCALE, &b))) {
        return false;
    }
    struct npu_scale scale = {(uint32_t)a, (uint8_t)(a >> 32)};
    op->a_scale = scale;
    /* In 32-bit modes OPA_SCALE is the scale of whichever operand is scaled. */
    op->b_scale = mode == SCALE_B_32 ? scale : (struct npu_scale){(uint32_t)b, 0};
    return true;
}

static bool decode_scales(struct npu *npu, struct elementwise *op)
{
    if (!npu_decode_rounding(npu, NPU_FIELD_IFM_ROUNDING, npu->product->family->input_rounding,
                             &op->ifm_rounding)) {
        return false;
    }
    if (modes[op->mode].ofm_scale && !npu_output_scale(npu, &op->ofm_scale)) {
        return false;
    }
    bool sums = op->mode == ADD || op->mode == SUB;
    return !sums || decode_operand_scales(npu, op);
}

static bool decode(struct npu *npu, struct elementwise *op)
{
    const struct npu_feature_map *ofm = &op->output.map;
    if (!npu_output_open(npu, &op->output) || !npu_decode_ifm(npu, &op->ifm)) {
        return false;
    }
    op->ifm.height = ofm->height;
    op->ifm.width = ofm->width;
    if (op->ifm.depth != ofm->depth) {
        return npu_fail(npu, NPU_FAULT_PARSE, "has IFM depth %u but OFM depth %u",
                        (unsigned)op->ifm.depth, (unsigned)ofm->depth);
    }
    if (modes[op->mode].only_32 && op->ifm.bits != 32) {
        return npu_fail(npu, NPU_FAULT_PARSE, "mode %u has a %u-bit IFM, not supported",
                        (unsigned)op->mode, op->ifm.bits);
    }
    return (!modes[op->mode].binary || decode_ifm2(npu, op)) && decode_scales(npu, op);
}

/** Repeat the one pixel or the one channel of a broadcast row, in place. */
static void spread(const struct elementwise *op, int32_t *values)
{
    size_t width = op->output.map.width;
    size_t depth = op->output.map.depth;
    size_t from_depth = op->ifm2.depth;
    for (size_t x = width; x-- > 0;) {
        const int32_t *from = values + (op->ifm2.width == 1 ? 0 : x * from_depth);
        int32_t *to = values + x * depth;
        if (from_depth == depth) {
            memmove(to, from, depth * sizeof *to);
            continue;
        }
        int32_t value = *from;
        for (size_t c = 0; c < depth; c++) {
            to[c] = value;
        }
    }
}

/** Bring row y of both operands. */
static bool load_operands(struct npu *npu, struct elementwise *op, uint32_t y)
{
    if (!npu_read_row_32(npu, &op->ifm, y, op->operand)) {
        return false;
    }
    if (!modes[op->mode].binary) {
        return true;
    }
    if ((op->broadcast & BROADCAST_SCALAR) != 0) {
        for (size_t i = 0; i < op->row && y == 0; i++) {
            op->operand2[i] = op->scalar;
        }
        return true;
    }
    if (op->ifm2.height == 1 && y > 0) {
        return true;
    }
    if (!npu_read_row_32(npu, &op->ifm2, y, op->operand2)) {
        return false;
    }
    if (op->ifm2.width != op->output.map.width || op->ifm2.depth != op->output.map.depth) {
        spread(op, op->operand2);
    }
    return true;
}

/** Fill the table of one operand of a sum; returns the largest magnitude, past
 * 32 bits if any is. */
static int64_t fill_table(const struct elementwise *op, struct npu_scale scale,
                          enum scale_mode mine, int32_t first, int64_t sign, int32_t *table)
{
    int64_t largest = 0;
    for (int32_t raw = 0; raw < RAW_VALUES; raw++) {
        int64_t value = sign * scaled_operand(op, first + raw, scale, mine);
        int64_t magnitude = value < 0 ? -value : value;
        largest = magnitude > largest ? magnitude : largest;
        table[raw] = (int32_t)value;
    }
    return largest;
}

static void choose_way(struct npu *npu, struct elementwise *op, bool swap)
{
    bool scalar = (op->broadcast & BROADCAST_SCALAR) != 0;
    if (modes[op->mode].quick == NULL || op->ifm.bits != 8 || scalar) {
        return;
    }
    const struct npu_feature_map *a = swap ? &op->ifm2 : &op->ifm;
    const struct npu_feature_map *b = swap ? &op->ifm : &op->ifm2;
    int64_t largest = npu_map_largest(a) * npu_map_largest(b);
    if (op->mode != MUL) {
        op->a_first = (int32_t)npu_map_minimum(a) - a->zero_point;
        op->b_first = (int32_t)npu_map_minimum(b) - b->zero_point;
        largest = fill_table(op, op->a_scale, SCALE_A_32, op->a_first, 1, op->a_scaled) +
                  fill_table(op, op->b_scale, SCALE_B_32, op->b_first, op->mode == ADD ? 1 : -1,
                             op->b_scaled);
    }
    op->quick = npu_requant_open_all(npu, &op->requant, &op->output, op->ofm_scale, largest);
}

/** Compute and store row y of operands that are loaded. out: values before the
 * output stage. */
static bool write_row(struct npu *npu, const struct elementwise *op, uint32_t y, const int32_t *a,
                      const int32_t *b, void *out)
{
    uint32_t width = op->output.map.width;
    if (!op->quick) {
        modes[op->mode].compute(op, a, b, out);
        return npu_output_write(npu, &op->output, y, 0, width, out);
    }
    modes[op->mode].quick(op, a, b, out);
    npu_requant(&op->requant, 0, (op->row + NPU_BRICK - 1) / NPU_BRICK, out);
    return npu_write_pixels(npu, &op->output.map, y, 0, width, out);
}

static bool run_rows(struct npu *npu, struct elementwise *op)
{
    const struct npu_feature_map *ofm = &op->output.map;
    op->row = (size_t)ofm->width * ofm->depth;
    void *out = npu_scratch_get(npu, NPU_BUFFER_ACC, op->row + NPU_BRICK, sizeof(int64_t));
    op->operand = npu_scratch_get(npu, NPU_BUFFER_ROWS, op->row, sizeof *op->operand);
    op->operand2 = npu_scratch_get(npu, NPU_BUFFER_OPERAND, op->row, sizeof *op->operand2);
    if (out == NULL || op->operand == NULL || op->operand2 == NULL) {
        return false;
    }
    if (!npu_map_open(npu, NPU_READ_IFM, &op->ifm) || !npu_map_open(npu, NPU_READ_IFM, &op->ifm2)) {
        return false;
    }
    bool swap = modes[op->mode].binary && (op->broadcast & BROADCAST_SWAP) != 0;
    const int32_t *a = swap ? op->operand2 : op->operand;
    const int32_t *b = swap ? op->operand : op->operand2;
    choose_way(npu, op, swap);
    for (uint32_t y = 0; y < ofm->height; y++) {
        if (npu_should_abort(npu) || !load_operands(npu, op, y) ||
            !write_row(npu, op, y, a, b, out)) {
            return false;
        }
    }
    return true;
}

static enum npu_output_class output_class(const struct elementwise *op)
{
    if (op->ifm.bits == 32) {
        return modes[op->mode].binary ? NPU_OUTPUT_BINARY_32 : NPU_OUTPUT_UNARY_32;
    }
    if (op->mode == MUL) {
        return op->output.map.bits == 32 ? NPU_OUTPUT_MUL_TO_32 : NPU_OUTPUT_MUL_OR_ACC40;
    }
    return op->mode == ADD || op->mode == SUB ? NPU_OUTPUT_ADD : NPU_OUTPUT_OTHER;
}

bool npu_op_elementwise(struct npu *npu, uint32_t param)
{
    struct elementwise op = {.mode = (enum mode)param};
    if (param >= MODE_COUNT) {
        return npu_fail(npu, NPU_FAULT_PARSE, "has mode %u", (unsigned)param);
    }
    return decode(npu, &op) && run_rows(npu, &op) &&
           npu_operation_done(npu, &(struct npu_work){
                                       .ifm = &op.ifm,
                                       .ifm2 = modes[op.mode].binary ? &op.ifm2 : NULL,
                                       .ofm = &op.output.map,
                                       .output_class = output_class(&op),
                                       .tables = op.output.activation != NPU_ACTIVATION_NONE,
                                   });
}
