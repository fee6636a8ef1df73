// SPDX-License-Identifier: MIT
/** NPU_OP_RESIZE of Ethos-U85: bilinear, replicate, nearest. */
#include <string.h>

#include "core/npu_internal.h"
#include "memory/feature_map.h"
#include "operands/operation.h"

enum resize_mode { RESIZE_BILINEAR = 0, RESIZE_REPLICATE = 1, RESIZE_NEAREST = 2, RESIZE_MODES };

enum {
    OFFSET_BITS = 12,
    ACCUMULATOR_SHIFT = 16, /**< left shift of the sums of weights times elements */
};

/** One axis: element o of the OFM is at (o * (step * parts + rest) + offset) / parts of the IFM. */
struct axis {
    uint32_t size; /**< of the IFM */
    int64_t parts, step;
    int64_t offset;
};

/** State specific to RESIZE. */
struct resize_decoded {
    enum resize_mode mode;
    struct axis down, across;
};
_Static_assert(sizeof(struct resize_decoded) <= NPU_DECODED_MAX, "fits into struct npu_op");

struct resize {
    const struct npu_op *op;
    const struct resize_decoded *decoded;
    int32_t *rows[2]; /**< the IFM rows read last */
    uint32_t held[2]; /**< their row numbers */
};

/** Position of an OFM element: between two IFM elements, in 1/parts from the first. */
struct between {
    uint32_t first, second;
    int64_t fraction;
};

static uint32_t inside(const struct axis *axis, int64_t index)
{
    return (uint32_t)npu_clamp(index, 0, (int64_t)axis->size - 1);
}

static struct between find(const struct axis *axis, uint32_t o)
{
    int64_t position = (int64_t)o * axis->step + axis->offset;
    int64_t fraction = position % axis->parts;
    fraction += fraction < 0 ? axis->parts : 0;
    int64_t index = (position - fraction) / axis->parts;
    return (struct between){inside(axis, index), inside(axis, index + 1), fraction};
}

/** The single element used by modes without weights. */
static uint32_t nearest(const struct resize *resize, const struct axis *axis,
                        const struct between *at)
{
    bool up = resize->decoded->mode == RESIZE_NEAREST && 2 * at->fraction >= axis->parts;
    return up ? at->second : at->first;
}

/** Get row y of the IFM without dropping row `other`. NULL after recording a fault. */
static const int32_t *get_row(struct npu *npu, struct resize *resize, uint32_t y, uint32_t other)
{
    for (unsigned slot = 0; slot < 2; slot++) {
        if (resize->held[slot] == y) {
            return resize->rows[slot];
        }
    }
    unsigned slot = resize->held[0] == other ? 1 : 0;
    resize->held[slot] = y;
    return npu_read_row_32(npu, &resize->op->ifm, y, resize->rows[slot]) ? resize->rows[slot]
                                                                         : NULL;
}

/** Compute one row without weights. */
static void pick_row(const struct resize *resize, const int32_t *row, int64_t *acc)
{
    size_t depth = resize->op->ifm.depth;
    for (uint32_t ox = 0; ox < resize->op->output.map.width; ox++, acc += depth) {
        struct between x = find(&resize->decoded->across, ox);
        const int32_t *input = row + nearest(resize, &resize->decoded->across, &x) * depth;
        for (size_t c = 0; c < depth; c++) {
            acc[c] = input[c];
        }
    }
}

/** Compute one row by bilinear interpolation of four elements. */
static void mix_row(const struct resize *resize, const int32_t *const rows[2],
                    const struct between *y, int64_t *acc)
{
    size_t depth = resize->op->ifm.depth;
    const int64_t weight_y[] = {resize->decoded->down.parts - y->fraction, y->fraction};
    for (uint32_t ox = 0; ox < resize->op->output.map.width; ox++, acc += depth) {
        struct between x = find(&resize->decoded->across, ox);
        const int64_t weight_x[] = {resize->decoded->across.parts - x.fraction, x.fraction};
        const size_t columns[] = {x.first * depth, x.second * depth};
        memset(acc, 0, depth * sizeof *acc);
        for (unsigned i = 0; i < 4; i++) {
            const int32_t *input = rows[i / 2] + columns[i % 2];
            int64_t weight = weight_y[i / 2] * weight_x[i % 2];
            for (size_t c = 0; c < depth; c++) {
                acc[c] += weight * input[c];
            }
        }
    }
}

static bool fill_row(struct npu *npu, struct resize *resize, uint32_t oy, int64_t *acc)
{
    struct between y = find(&resize->decoded->down, oy);
    if (resize->decoded->mode != RESIZE_BILINEAR) {
        uint32_t only = nearest(resize, &resize->decoded->down, &y);
        const int32_t *row = get_row(npu, resize, only, only);
        if (row != NULL) {
            pick_row(resize, row, acc);
        }
        return row != NULL;
    }
    const int32_t *rows[2];
    rows[0] = get_row(npu, resize, y.first, y.second);
    rows[1] = rows[0] == NULL ? NULL : get_row(npu, resize, y.second, y.first);
    if (rows[1] != NULL) {
        mix_row(resize, rows, &y, acc);
    }
    return rows[1] != NULL;
}

static bool run_rows(struct npu *npu, struct resize *resize)
{
    const struct npu_feature_map *ofm = &resize->op->output.map;
    size_t count = (size_t)ofm->width * ofm->depth;
    size_t row = (size_t)resize->op->ifm.width * resize->op->ifm.depth;
    int64_t *acc = npu_scratch_get(npu, NPU_BUFFER_ACC, count, sizeof *acc);
    resize->rows[0] = npu_scratch_get(npu, NPU_BUFFER_ROWS, row, 2 * sizeof(int32_t));
    if (acc == NULL || resize->rows[0] == NULL) {
        return false;
    }
    resize->rows[1] = resize->rows[0] + row;
    resize->held[0] = resize->held[1] = UINT32_MAX;
    for (uint32_t y = 0; y < ofm->height; y++) {
        if (npu_should_abort(npu) || !fill_row(npu, resize, y, acc)) {
            return false;
        }
        for (size_t i = 0; i < count; i++) {
            acc[i] *= (int64_t)1 << ACCUMULATOR_SHIFT;
        }
        npu_scale_all(acc, count, resize->op->scale, resize->op->output.rounding);
        if (!npu_output_write(npu, &resize->op->output, y, 0, ofm->width, acc)) {
            return false;
        }
    }
    return true;
}

static bool execute(struct npu *npu, const struct npu_op *op)
{
    struct resize resize = {.op = op, .decoded = op->decoded};
    return run_rows(npu, &resize);
}

static bool decode_axis(struct npu *npu, enum npu_command_row parts, enum npu_command_row offset,
                        enum npu_field step, enum npu_field rest, enum npu_command_row size,
                        struct axis *axis)
{
    uint64_t parts_m1, start, size_m1;
    uint32_t whole, part;
    if (!npu_get(npu, parts, &parts_m1) || !npu_get(npu, offset, &start) ||
        !npu_get_field(npu, step, &whole) || !npu_get_field(npu, rest, &part) ||
        !npu_get(npu, size, &size_m1)) {
        return false;
    }
    axis->size = (uint32_t)size_m1 + 1;
    axis->parts = (int64_t)parts_m1 + 1;
    axis->step = whole * axis->parts + part;
    axis->offset = npu_sign_extend(start, OFFSET_BITS);
    if (part < axis->parts) {
        return true;
    }
    return npu_fail(npu, NPU_FAULT_PARSE, "steps by %u and %u parts of %u", (unsigned)whole,
                    (unsigned)part, (unsigned)axis->parts);
}

static bool decode(struct npu *npu, struct npu_op *op)
{
    struct resize_decoded *decoded = npu_new_decoded(op, sizeof *decoded);
    decoded->mode = (enum resize_mode)op->param;
    if (op->param >= RESIZE_MODES) {
        return npu_fail(npu, NPU_FAULT_PARSE, "has mode %u", (unsigned)op->param);
    }
    if (!npu_decode_output(npu, op) || !npu_decode_ofm_scale(npu, &op->scale) ||
        !npu_decode_ifm(npu, &op->ifm) ||
        !decode_axis(npu, NPU_SET_RESIZE_Y_SCALE_N_M1, NPU_SET_RESIZE_Y_OFFSET,
                     NPU_FIELD_RESIZE_Y_STEP, NPU_FIELD_RESIZE_Y_STEP_REST,
                     NPU_SET_KERNEL_HEIGHT_M1, &decoded->down) ||
        !decode_axis(npu, NPU_SET_RESIZE_X_SCALE_N_M1, NPU_SET_RESIZE_X_OFFSET,
                     NPU_FIELD_RESIZE_X_STEP, NPU_FIELD_RESIZE_X_STEP_REST, NPU_SET_KERNEL_WIDTH_M1,
                     &decoded->across)) {
        return false;
    }
    op->ifm.height = decoded->down.size;
    op->ifm.width = decoded->across.size;
    op->output_class = NPU_OUTPUT_OTHER;
    const struct npu_feature_map *ofm = &op->output.map;
    if (op->ifm.depth != ofm->depth || op->ifm.bits == 32 || !op->output.global_scale) {
        return npu_fail(npu, NPU_FAULT_PARSE, "has a %u-bit IFM of depth %u, OFM depth %u%s",
                        op->ifm.bits, (unsigned)op->ifm.depth, (unsigned)ofm->depth,
                        op->output.global_scale ? "" : ", scales per channel");
    }
    return true;
}

const struct npu_operator npu_resize = {decode, execute};
