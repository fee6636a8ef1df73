// SPDX-License-Identifier: MIT
/** NPU_OP_ELEMENTWISE: operands and their scales, row by row. */
#include "operators/elementwise.h"

#include <string.h>

#include "arithmetic/requant.h"
#include "core/clones.h"
#include "core/npu_internal.h"
#include "operands/operation.h"

enum { RAW_VALUES = 256 /**< of 8-bit elements */ };

/** How ADD and SUB of U55 and U65 bring their operands to one scale. */
enum scale_mode { SCALE_BOTH_16 = 0, SCALE_A_32 = 1, SCALE_B_32 = 2 };

/** State specific to ELEMENTWISE. */
struct elementwise_decoded {
    enum npu_elementwise_mode mode;
    const struct npu_elementwise_mode_row *row;
    struct npu_operand ifm, ifm2;
    bool swapped; /**< IFM2 is the left operand */
    struct npu_elementwise_terms terms;
};
_Static_assert(sizeof(struct elementwise_decoded) <= NPU_DECODED_MAX, "fits into struct npu_op");

/** One side of the operator. */
struct side {
    const struct npu_operand *operand;
    const struct npu_feature_map *map;
    int32_t *row;               /**< as wide as the OFM's */
    uint8_t *bytes;             /**< of ADD and SUB in its place: raw values from the smallest on */
    int32_t by_raw[RAW_VALUES]; /**< the scaled value, by them */
};

struct elementwise {
    const struct npu_op *op;
    const struct elementwise_decoded *decoded;
    struct side left, right;
    size_t count;    /**< elements of an OFM row */
    int64_t *scaled; /**< a row of the right operand, and one of the left */
    bool quick;      /**< 8-bit operands, whose results fit 32 bits before the output stage */
    struct npu_requant requant;
};

static const struct npu_input_scale unit = {{1, 0}, 0, NPU_ROUND_NATURAL};
static const int64_t past_32_bits = (int64_t)1 << 60;

static bool is_sum(const struct elementwise_decoded *decoded)
{
    return decoded->mode == NPU_EW_ADD || decoded->mode == NPU_EW_SUB;
}

/* --- Decode --------------------------------------------------------------- */

/** One operand is scaled after being shifted left; the other is shifted to match. */
static bool decode_shifted_sum(struct npu *npu, struct npu_op *op, struct npu_operand *scaled,
                               struct npu_operand *shifted)
{
    uint64_t scale;
    unsigned up = op->ifm.bits == 8 ? 20 : 15;
    if (!npu_get(npu, NPU_SET_OPA_SCALE, &scale)) {
        return false;
    }
    scaled->scale.scale = (struct npu_scale){(uint32_t)scale, (uint8_t)((scale >> 32) + up)};
    scaled->scale.before = up;
    shifted->scale.scale.multiplier = 1u << (up - 1);
    return npu_decode_rounding(npu, NPU_FIELD_IFM_ROUNDING, npu->product->family->input_rounding,
                               &scaled->scale.rounding);
}

/** OPA_SCALE and OPB_SCALE, as used by the scale mode. */
static bool decode_sum(struct npu *npu, struct npu_op *op, struct elementwise_decoded *decoded)
{
    struct npu_operand *a = decoded->swapped ? &decoded->ifm2 : &decoded->ifm;
    struct npu_operand *b = decoded->swapped ? &decoded->ifm : &decoded->ifm2;
    uint32_t mode;
    uint64_t scale_a, scale_b;
    if (!npu_get_field(npu, NPU_FIELD_OPERAND_SCALE_MODE, &mode)) {
        return false;
    }
    if (mode > SCALE_B_32 || (mode != SCALE_BOTH_16 && op->ifm.bits == 32)) {
        return npu_fail(npu, NPU_FAULT_PARSE, "has IFM scale mode %u with a %u-bit IFM",
                        (unsigned)mode, op->ifm.bits);
    }
    if (mode == SCALE_A_32) {
        return decode_shifted_sum(npu, op, a, b);
    }
    if (mode == SCALE_B_32) {
        return decode_shifted_sum(npu, op, b, a);
    }
    if (!npu_get(npu, NPU_SET_OPA_SCALE, &scale_a) || !npu_get(npu, NPU_SET_OPB_SCALE, &scale_b)) {
        return false;
    }
    a->scale.scale = (struct npu_scale){(uint16_t)scale_a, 0};
    b->scale.scale = (struct npu_scale){(uint16_t)scale_b, 0};
    return true;
}

/** U55 and U65: ADD and SUB scale their operands; LRELU scales negative values with OFM_SCALE. */
static bool decode_shared_scales(struct npu *npu, struct npu_op *op,
                                 struct elementwise_decoded *decoded)
{
    struct npu_scale scale;
    bool lrelu = decoded->mode == NPU_EW_LRELU;
    if ((lrelu || decoded->row->old_ofm_scale) && !npu_decode_ofm_scale(npu, &scale)) {
        return false;
    }
    if (decoded->row->old_ofm_scale) {
        op->scale = scale;
    }
    if (lrelu) {
        decoded->terms.negative = (struct npu_input_scale){scale, 0, op->output.rounding};
    }
    return !is_sum(decoded) || decode_sum(npu, op, decoded);
}

/** U85: one scale per operand; in LRELU these are for positive and negative values. */
static bool decode_operand_scales(struct npu *npu, struct npu_op *op,
                                  struct elementwise_decoded *decoded)
{
    if (!npu_decode_ofm_scale(npu, &op->scale)) {
        return false;
    }
    if (decoded->mode == NPU_EW_LRELU) {
        return npu_decode_ifm_scale(npu, &decoded->terms.positive) &&
               npu_decode_ifm2_scale(npu, &decoded->terms.negative);
    }
    if (!npu_decode_ifm_scale(npu, &decoded->ifm.scale)) {
        return false;
    }
    return !decoded->row->binary || npu_decode_ifm2_scale(npu, &decoded->ifm2.scale);
}

static bool decode_scales(struct npu *npu, struct npu_op *op, struct elementwise_decoded *decoded)
{
    bool per_operand = npu->product->family->operand_scales;
    decoded->terms.rounding = op->output.rounding;
    if (!(per_operand ? decode_operand_scales : decode_shared_scales)(npu, op, decoded)) {
        return false;
    }
    /* Products of 32-bit elements are only shifted; the multiplier is ignored. */
    if (decoded->mode == NPU_EW_MUL && op->ifm.bits == 32) {
        op->scale.multiplier = 1;
    }
    return true;
}

static bool decode_second(struct npu *npu, struct npu_op *op, struct elementwise_decoded *decoded)
{
    uint32_t swap;
    if (!npu_decode_operand2(npu, op, &decoded->ifm2) ||
        !npu_get_field(npu, NPU_FIELD_OPERAND_SWAP, &swap)) {
        return false;
    }
    decoded->swapped = swap != 0;
    if (op->ifm2.bits == op->ifm.bits) {
        return true;
    }
    return npu_fail(npu, NPU_FAULT_PARSE, "has a %u-bit IFM but a %u-bit IFM2", op->ifm.bits,
                    op->ifm2.bits);
}

/** U85 ignores IFM_DEPTH with a chained operand. */
static bool check_depth(struct npu *npu, const struct npu_op *op,
                        const struct elementwise_decoded *decoded)
{
    uint64_t depth_m1;
    if (decoded->ifm.is_scalar || op->ifm.chained || op->ifm2.chained) {
        return true;
    }
    if (!npu_get(npu, NPU_SET_IFM_DEPTH_M1, &depth_m1)) {
        return false;
    }
    if (depth_m1 + 1 == op->ifm.depth) {
        return true;
    }
    return npu_fail(npu, NPU_FAULT_PARSE, "has IFM depth %u but OFM depth %u",
                    (unsigned)depth_m1 + 1, (unsigned)op->output.map.depth);
}

static enum npu_output_class output_class(const struct npu_op *op,
                                          const struct elementwise_decoded *decoded)
{
    if (op->ifm.bits == 32) {
        return decoded->row->binary ? NPU_OUTPUT_BINARY_32 : NPU_OUTPUT_UNARY_32;
    }
    if (decoded->mode == NPU_EW_MUL) {
        return op->output.map.bits == 32 ? NPU_OUTPUT_MUL_TO_32 : NPU_OUTPUT_MUL_OR_ACC40;
    }
    return is_sum(decoded) ? NPU_OUTPUT_ADD : NPU_OUTPUT_OTHER;
}

static bool decode(struct npu *npu, struct npu_op *op)
{
    struct elementwise_decoded *decoded = npu_new_decoded(op, sizeof *decoded);
    if (op->param >= npu->product->family->elementwise_modes ||
        npu_elementwise_modes[op->param].compute == NULL) {
        return npu_fail(npu, NPU_FAULT_PARSE, "has mode %u", (unsigned)op->param);
    }
    decoded->mode = (enum npu_elementwise_mode)op->param;
    decoded->row = &npu_elementwise_modes[op->param];
    decoded->ifm.scale = decoded->ifm2.scale = decoded->terms.positive = decoded->terms.negative =
        unit;
    if (!npu_decode_output(npu, op) || !npu_decode_operand(npu, op, &decoded->ifm) ||
        (decoded->row->binary && !decode_second(npu, op, decoded)) ||
        !check_depth(npu, op, decoded)) {
        return false;
    }
    bool narrow = decoded->row->sizes == NPU_EW_ANY_SIZE ||
                  (decoded->row->sizes == NPU_EW_SHIFTED && npu->product->family->narrow_shifts);
    if (!narrow && op->ifm.bits != 32) {
        return npu_fail(npu, NPU_FAULT_PARSE, "mode %u has a %u-bit IFM, not supported",
                        (unsigned)decoded->mode, op->ifm.bits);
    }
    op->output_class = output_class(op, decoded);
    return decode_scales(npu, op, decoded);
}

/* --- Execute -------------------------------------------------------------- */

/** Scale an operand's row; values with unit scale are unchanged. */
static void scale_row(const struct side *side, size_t count, int64_t *out)
{
    const struct npu_input_scale *scale = &side->operand->scale;
    if (npu_is_unit(scale->scale)) {
        for (size_t i = 0; i < count; i++) {
            out[i] = side->row[i];
        }
        return;
    }
    for (size_t i = 0; i < count; i++) {
        out[i] = npu_operand_scale(scale, side->row[i]);
    }
}

/** The exact path. out: values before the output stage. */
static void compute_row(const struct elementwise *elementwise, int64_t *out)
{
    const struct elementwise_decoded *decoded = elementwise->decoded;
    size_t count = elementwise->count;
    int64_t *left = elementwise->scaled + count;
    scale_row(&elementwise->left, count, left);
    if (decoded->row->binary) {
        scale_row(&elementwise->right, count, elementwise->scaled);
    }
    decoded->row->compute(&decoded->terms, left, elementwise->scaled, count, out);
    npu_scale_all(out, count, elementwise->op->scale, elementwise->op->output.rounding);
}

NPU_CLONES static void multiply_quickly(const int32_t *a, const int32_t *b, size_t count,
                                        int32_t *out)
{
    for (size_t i = 0; i < count; i++) {
        out[i] = a[i] * b[i];
    }
}

/** In fours, by hand: a vector would gather from the tables, which takes longer. */
static void add_quickly(const struct side *left, const struct side *right, size_t count,
                        int32_t *out)
{
    const int32_t *to_a = left->by_raw, *to_b = right->by_raw;
    for (size_t i = 0; i < count; i += sizeof(uint32_t)) {
        uint32_t a, b;
        memcpy(&a, left->bytes + i, sizeof a);
        memcpy(&b, right->bytes + i, sizeof b);
        out[i] = to_a[a & 0xFF] + to_b[b & 0xFF];
        out[i + 1] = to_a[a >> 8 & 0xFF] + to_b[b >> 8 & 0xFF];
        out[i + 2] = to_a[a >> 16 & 0xFF] + to_b[b >> 16 & 0xFF];
        out[i + 3] = to_a[a >> 24] + to_b[b >> 24];
    }
}

/**
 * Fill the table of one operand of a sum; returns the largest magnitude, above 32 bits if any is.
 */
static int64_t fill_table(struct side *side, int64_t sign)
{
    int64_t largest = 0;
    int32_t first = (int32_t)npu_map_minimum(side->map) - side->map->zero_point;
    side->bytes = (uint8_t *)side->row;
    for (int32_t raw = 0; raw < RAW_VALUES; raw++) {
        int64_t value = npu_operand_scale(&side->operand->scale, first + raw);
        value = sign * npu_clamp(value, -past_32_bits, past_32_bits);
        int64_t magnitude = value < 0 ? -value : value;
        largest = magnitude > largest ? magnitude : largest;
        side->by_raw[raw] = (int32_t)value;
    }
    return largest;
}

static void choose_way(struct npu *npu, struct elementwise *elementwise)
{
    const struct npu_op *op = elementwise->op;
    const struct elementwise_decoded *decoded = elementwise->decoded;
    struct side *left = &elementwise->left;
    struct side *right = &elementwise->right;
    if (!decoded->row->binary || op->ifm.bits != 8 || decoded->ifm.is_scalar ||
        decoded->ifm2.is_scalar) {
        return;
    }
    int64_t largest;
    if (is_sum(decoded) && elementwise->count * op->output.map.height < RAW_VALUES) {
        return; /* Tables would have more values than the operands. */
    }
    if (is_sum(decoded)) {
        int64_t sign = decoded->mode == NPU_EW_ADD ? 1 : -1;
        largest = fill_table(left, 1) + fill_table(right, sign);
    } else if (decoded->mode == NPU_EW_MUL && npu_is_unit(decoded->ifm.scale.scale) &&
               npu_is_unit(decoded->ifm2.scale.scale)) {
        largest = npu_map_largest(&op->ifm) * npu_map_largest(&op->ifm2);
    } else {
        return;
    }
    elementwise->quick =
        npu_requant_open_all(npu, &elementwise->requant, &op->output, op->scale, largest);
}

/** Compute and store row y from the loaded operands. */
static bool write_row(struct npu *npu, const struct elementwise *elementwise, uint32_t y, void *out)
{
    const struct npu_output *output = &elementwise->op->output;
    const struct side *left = &elementwise->left;
    const struct side *right = &elementwise->right;
    size_t count = elementwise->count;
    if (!elementwise->quick) {
        compute_row(elementwise, out);
        return npu_output_write(npu, output, y, 0, output->map.width, out);
    }
    if (elementwise->decoded->mode == NPU_EW_MUL) {
        multiply_quickly(left->row, right->row, count, out);
    } else {
        add_quickly(left, right, count, out);
    }
    npu_requant(&elementwise->requant, (count + NPU_BRICK - 1) / NPU_BRICK, out);
    return npu_write_pixels(npu, &output->map, y, 0, output->map.width, out);
}

static bool load_row(struct npu *npu, const struct elementwise *elementwise,
                     const struct side *side, uint32_t y)
{
    return npu_operand_load(npu, side->operand, side->map, &elementwise->op->output.map, y,
                            side->row, elementwise->quick ? side->bytes : NULL);
}

static bool run_rows(struct npu *npu, const struct elementwise *elementwise, void *out)
{
    bool binary = elementwise->decoded->row->binary;
    for (uint32_t y = 0; y < elementwise->op->output.map.height; y++) {
        if (npu_should_abort(npu) || !load_row(npu, elementwise, &elementwise->left, y) ||
            (binary && !load_row(npu, elementwise, &elementwise->right, y)) ||
            !write_row(npu, elementwise, y, out)) {
            return false;
        }
    }
    return true;
}

static bool execute(struct npu *npu, const struct npu_op *op)
{
    const struct elementwise_decoded *decoded = op->decoded;
    struct elementwise elementwise = {.op = op, .decoded = decoded};
    struct side *left = &elementwise.left;
    struct side *right = &elementwise.right;
    left->operand = decoded->swapped ? &decoded->ifm2 : &decoded->ifm;
    right->operand = decoded->swapped ? &decoded->ifm : &decoded->ifm2;
    left->map = decoded->swapped ? &op->ifm2 : &op->ifm;
    right->map = decoded->swapped ? &op->ifm : &op->ifm2;
    size_t count = (size_t)op->output.map.width * op->output.map.depth;
    elementwise.count = count;
    elementwise.scaled = npu_scratch_get(npu, NPU_BUFFER_SUMS, count, 2 * sizeof(int64_t));
    /* The fast ways read and write whole bricks. */
    size_t room = count + NPU_BRICK;
    left->row = npu_scratch_get(npu, NPU_BUFFER_ROWS, room, sizeof(int32_t));
    right->row = npu_scratch_get(npu, NPU_BUFFER_OPERAND, room, sizeof(int32_t));
    void *out = npu_scratch_get(npu, NPU_BUFFER_ACC, room, sizeof(int64_t));
    if (elementwise.scaled == NULL || left->row == NULL || right->row == NULL || out == NULL) {
        return false;
    }
    choose_way(npu, &elementwise);
    return run_rows(npu, &elementwise, out);
}

const struct npu_operator npu_elementwise = {decode, execute};
