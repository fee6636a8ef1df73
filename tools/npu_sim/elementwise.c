// SPDX-License-Identifier: MIT
/** NPU_OP_ELEMENTWISE: operands and their scales, row by row. */
#include "elementwise.h"

#include "clones.h"
#include "npu_internal.h"
#include "operation.h"
#include "requant.h"

enum {
    RAW_VALUES = 256, /**< that 8-bit elements can have */
    OLD_MODES = NPU_EW_LSR,
};

/** How ADD and SUB of U55 and U65 bring their operands to one scale. */
enum scale_mode { SCALE_BOTH_16 = 0, SCALE_A_32 = 1, SCALE_B_32 = 2 };

struct elementwise {
    enum npu_elementwise_mode mode;
    const struct npu_elementwise_mode_row *row;
    struct npu_output output;
    struct npu_operand ifm, ifm2;
    struct npu_operand *a, *b; /**< left and right */
    struct npu_scale ofm_scale;
    struct npu_elementwise_terms terms;
    size_t count;    /**< elements of an OFM row */
    int64_t *scaled; /**< a row of b, and one of a */

    /* The way of 8-bit operands, whose results fit 32 bits before the output
     * stage. */
    bool quick;
    struct npu_requant requant;
    int32_t a_scaled[RAW_VALUES], b_scaled[RAW_VALUES]; /**< ADD and SUB: by raw value */
    int32_t a_first, b_first;                           /**< smallest value of each operand */
};

static const struct npu_input_scale unit = {{1, 0}, 0, NPU_ROUND_NATURAL};
static const int64_t past_32_bits = (int64_t)1 << 60;

static bool is_sum(const struct elementwise *op)
{
    return op->mode == NPU_EW_ADD || op->mode == NPU_EW_SUB;
}

/**
 * OPA_SCALE and OPB_SCALE, as far as the scale mode uses them. In the 32-bit modes
 * one operand is scaled after it was shifted up, the other is shifted to match.
 */
static bool decode_old_sum(struct npu *npu, struct elementwise *op)
{
    uint32_t mode;
    uint64_t a = 0;
    uint64_t b = 0;
    if (!npu_get_field(npu, NPU_FIELD_OPERAND_SCALE_MODE, &mode)) {
        return false;
    }
    unsigned bits = op->ifm.map.bits;
    if (mode > SCALE_B_32 || (mode != SCALE_BOTH_16 && bits == 32)) {
        return npu_fail(npu, NPU_FAULT_PARSE, "has IFM scale mode %u with a %u-bit IFM", mode,
                        bits);
    }
    if (!npu_get(npu, NPU_SET_OPA_SCALE, &a) ||
        (mode == SCALE_BOTH_16 && !npu_get(npu, NPU_SET_OPB_SCALE, &b))) {
        return false;
    }
    if (mode == SCALE_BOTH_16) {
        op->a->scale.scale = (struct npu_scale){(uint16_t)a, 0};
        op->b->scale.scale = (struct npu_scale){(uint16_t)b, 0};
        return true;
    }
    unsigned up = bits == 8 ? 20 : 15;
    struct npu_operand *scaled = mode == SCALE_A_32 ? op->a : op->b;
    struct npu_operand *shifted = mode == SCALE_A_32 ? op->b : op->a;
    scaled->scale.scale = (struct npu_scale){(uint32_t)a, (uint8_t)((a >> 32) + up)};
    scaled->scale.before = up;
    shifted->scale.scale.multiplier = 1u << (up - 1);
    return npu_decode_rounding(npu, NPU_FIELD_IFM_ROUNDING, npu->product->family->input_rounding,
                               &scaled->scale.rounding);
}

/** U55 and U65: ADD and SUB scale their operands, LRELU what is negative, with OFM_SCALE. */
static bool decode_old_scales(struct npu *npu, struct elementwise *op)
{
    bool lrelu = op->mode == NPU_EW_LRELU;
    struct npu_scale scale;
    if ((lrelu || op->row->old_ofm_scale) && !npu_output_scale(npu, &scale)) {
        return false;
    }
    if (op->row->old_ofm_scale) {
        op->ofm_scale = scale;
    }
    if (lrelu) {
        op->terms.negative = (struct npu_input_scale){scale, 0, op->output.rounding};
    }
    return !is_sum(op) || decode_old_sum(npu, op);
}

/** U85: each operand has its scale, which in LRELU are those of the two halves. */
static bool decode_scales(struct npu *npu, struct elementwise *op)
{
    if (op->mode == NPU_EW_LRELU) {
        return npu_output_scale(npu, &op->ofm_scale) &&
               npu_decode_ifm_scale(npu, &op->terms.positive) &&
               npu_decode_ifm2_scale(npu, &op->terms.negative);
    }
    return npu_output_scale(npu, &op->ofm_scale) && npu_decode_ifm_scale(npu, &op->ifm.scale) &&
           (!op->row->binary || npu_decode_ifm2_scale(npu, &op->ifm2.scale));
}

static bool decode_second(struct npu *npu, struct elementwise *op)
{
    uint32_t swap;
    if (!npu_decode_operand2(npu, &op->ifm2, &op->output.map) ||
        !npu_get_field(npu, NPU_FIELD_OPERAND_SWAP, &swap)) {
        return false;
    }
    if (swap != 0) {
        op->a = &op->ifm2;
        op->b = &op->ifm;
    }
    return op->ifm2.map.bits == op->ifm.map.bits ||
           npu_fail(npu, NPU_FAULT_PARSE, "has a %u-bit IFM but a %u-bit IFM2", op->ifm.map.bits,
                    op->ifm2.map.bits);
}

/** Beside a chained operand, U85 has no use for IFM_DEPTH. */
static bool check_depth(struct npu *npu, const struct elementwise *op)
{
    uint64_t depth_m1;
    if (op->ifm.is_scalar || op->ifm.map.chained || op->ifm2.map.chained) {
        return true;
    }
    return npu_get(npu, NPU_SET_IFM_DEPTH_M1, &depth_m1) &&
           (depth_m1 + 1 == op->ifm.map.depth ||
            npu_fail(npu, NPU_FAULT_PARSE, "has IFM depth %u but OFM depth %u",
                     (unsigned)depth_m1 + 1, (unsigned)op->output.map.depth));
}

static bool decode(struct npu *npu, struct elementwise *op)
{
    bool is_u85 = npu->product->family->index == NPU_U85;
    if (!npu_output_open(npu, &op->output) || !npu_decode_operand(npu, &op->ifm, &op->output.map) ||
        (op->row->binary && !decode_second(npu, op))) {
        return false;
    }
    if (!check_depth(npu, op)) {
        return false;
    }
    if (op->row->only_32 && op->ifm.map.bits != 32) {
        return npu_fail(npu, NPU_FAULT_PARSE, "mode %u has a %u-bit IFM, not supported",
                        (unsigned)op->mode, op->ifm.map.bits);
    }
    op->terms.rounding = op->output.rounding;
    if (!(is_u85 ? decode_scales(npu, op) : decode_old_scales(npu, op))) {
        return false;
    }
    /* A product of 32-bit elements is only shifted: the multiplier is not used. */
    if (op->mode == NPU_EW_MUL && op->ifm.map.bits == 32) {
        op->ofm_scale.multiplier = 1;
    }
    return true;
}

/** Scale an operand's row; values of unit scale come as they are. */
static void scale_row(const struct npu_operand *operand, size_t count, int64_t *out)
{
    if (npu_is_unit(operand->scale.scale)) {
        for (size_t i = 0; i < count; i++) {
            out[i] = operand->row[i];
        }
        return;
    }
    for (size_t i = 0; i < count; i++) {
        out[i] = npu_operand_scale(&operand->scale, operand->row[i]);
    }
}

/** The exact way. out: values before the output stage. */
static void compute_row(const struct elementwise *op, int64_t *out)
{
    int64_t *a = op->scaled + op->count;
    scale_row(op->a, op->count, a);
    if (op->row->binary) {
        scale_row(op->b, op->count, op->scaled);
    }
    op->row->compute(&op->terms, a, op->scaled, op->count, out);
    npu_scale_all(out, op->count, op->ofm_scale, op->output.rounding);
}

NPU_CLONES static void multiply_quickly(const int32_t *a, const int32_t *b, size_t count,
                                        int32_t *out)
{
    for (size_t i = 0; i < count; i++) {
        out[i] = a[i] * b[i];
    }
}

NPU_CLONES static void add_quickly(const struct elementwise *op, const int32_t *a, const int32_t *b,
                                   int32_t *out)
{
    for (size_t i = 0; i < op->count; i++) {
        out[i] = op->a_scaled[a[i] - op->a_first] + op->b_scaled[b[i] - op->b_first];
    }
}

/** Fill the table of one operand of a sum; returns the largest magnitude, past
 * 32 bits if any is. */
static int64_t fill_table(const struct npu_input_scale *scale, int32_t first, int64_t sign,
                          int32_t *table)
{
    int64_t largest = 0;
    for (int32_t raw = 0; raw < RAW_VALUES; raw++) {
        int64_t value = npu_operand_scale(scale, first + raw);
        value = sign * npu_clamp(value, -past_32_bits, past_32_bits);
        int64_t magnitude = value < 0 ? -value : value;
        largest = magnitude > largest ? magnitude : largest;
        table[raw] = (int32_t)value;
    }
    return largest;
}

static void choose_way(struct npu *npu, struct elementwise *op)
{
    bool product = op->mode == NPU_EW_MUL;
    if (!(product || is_sum(op)) || op->ifm.map.bits != 8 || op->a->is_scalar || op->b->is_scalar ||
        (product && !(npu_is_unit(op->a->scale.scale) && npu_is_unit(op->b->scale.scale)))) {
        return;
    }
    int64_t largest = npu_map_largest(&op->a->map) * npu_map_largest(&op->b->map);
    if (!product) {
        op->a_first = (int32_t)npu_map_minimum(&op->a->map) - op->a->map.zero_point;
        op->b_first = (int32_t)npu_map_minimum(&op->b->map) - op->b->map.zero_point;
        int64_t sign = op->mode == NPU_EW_ADD ? 1 : -1;
        largest = fill_table(&op->a->scale, op->a_first, 1, op->a_scaled) +
                  fill_table(&op->b->scale, op->b_first, sign, op->b_scaled);
    }
    op->quick = npu_requant_open_all(npu, &op->requant, &op->output, op->ofm_scale, largest);
}

/** Compute and store row y of operands that are loaded. */
static bool write_row(struct npu *npu, const struct elementwise *op, uint32_t y, void *out)
{
    uint32_t width = op->output.map.width;
    if (!op->quick) {
        compute_row(op, out);
        return npu_output_write(npu, &op->output, y, 0, width, out);
    }
    if (op->mode == NPU_EW_MUL) {
        multiply_quickly(op->a->row, op->b->row, op->count, out);
    } else {
        add_quickly(op, op->a->row, op->b->row, out);
    }
    npu_requant(&op->requant, 0, (op->count + NPU_BRICK - 1) / NPU_BRICK, out);
    return npu_write_pixels(npu, &op->output.map, y, 0, width, out);
}

static bool run_rows(struct npu *npu, struct elementwise *op)
{
    const struct npu_feature_map *ofm = &op->output.map;
    op->count = (size_t)ofm->width * ofm->depth;
    void *out = npu_scratch_get(npu, NPU_BUFFER_ACC, op->count + NPU_BRICK, sizeof(int64_t));
    op->scaled = npu_scratch_get(npu, NPU_BUFFER_SUMS, op->count, 2 * sizeof(int64_t));
    op->ifm.row = npu_scratch_get(npu, NPU_BUFFER_ROWS, op->count, sizeof(int32_t));
    op->ifm2.row = npu_scratch_get(npu, NPU_BUFFER_OPERAND, op->count, sizeof(int32_t));
    if (out == NULL || op->scaled == NULL || op->ifm.row == NULL || op->ifm2.row == NULL ||
        !npu_map_open(npu, NPU_READ_IFM, &op->ifm.map) ||
        !npu_map_open(npu, NPU_READ_IFM, &op->ifm2.map)) {
        return false;
    }
    choose_way(npu, op);
    for (uint32_t y = 0; y < ofm->height; y++) {
        if (npu_should_abort(npu) || !npu_operand_load(npu, &op->ifm, ofm, y) ||
            (op->row->binary && !npu_operand_load(npu, &op->ifm2, ofm, y)) ||
            !write_row(npu, op, y, out)) {
            return false;
        }
    }
    return true;
}

static enum npu_output_class output_class(const struct elementwise *op)
{
    if (op->ifm.map.bits == 32) {
        return op->row->binary ? NPU_OUTPUT_BINARY_32 : NPU_OUTPUT_UNARY_32;
    }
    if (op->mode == NPU_EW_MUL) {
        return op->output.map.bits == 32 ? NPU_OUTPUT_MUL_TO_32 : NPU_OUTPUT_MUL_OR_ACC40;
    }
    return is_sum(op) ? NPU_OUTPUT_ADD : NPU_OUTPUT_OTHER;
}

bool npu_op_elementwise(struct npu *npu, uint32_t param)
{
    struct elementwise op = {
        .mode = (enum npu_elementwise_mode)param,
        .ifm = {.scale = unit},
        .ifm2 = {.scale = unit},
        .a = &op.ifm,
        .b = &op.ifm2,
        .ofm_scale = {1, 0},
        .terms = {.positive = unit, .negative = unit},
    };
    uint32_t modes = npu->product->family->index == NPU_U85 ? NPU_EW_MODES : OLD_MODES;
    if (param >= modes || npu_elementwise_modes[param].compute == NULL) {
        return npu_fail(npu, NPU_FAULT_PARSE, "has mode %u", (unsigned)param);
    }
    op.row = &npu_elementwise_modes[param];
    return decode(npu, &op) && run_rows(npu, &op) && npu_output_close(npu, &op.output) &&
           npu_operation_done(npu, &(struct npu_work){
                                       .ifm = &op.ifm.map,
                                       .ifm2 = op.row->binary ? &op.ifm2.map : NULL,
                                       .ofm = &op.output.map,
                                       .output_class = output_class(&op),
                                       .tables = op.output.activation != NPU_ACTIVATION_NONE,
                                   });
}
