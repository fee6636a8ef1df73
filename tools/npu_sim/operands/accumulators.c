// SPDX-License-Identifier: MIT
/** Accumulators that outlive an operation. */
#include "operands/accumulators.h"

#include <inttypes.h>
#include <string.h>

#include "core/npu_internal.h"
#include "core/rounding.h"
#include "memory/feature_map.h"
#include "operands/operation.h"

static bool decode_ifm2(struct npu *npu, struct npu_op *op)
{
    const struct npu_feature_map *ofm = &op->output.map;
    struct npu_feature_map *ifm2 = &op->ifm2;
    if (!npu_decode_ifm2(npu, ifm2)) {
        return false;
    }
    unsigned bits = op->accumulators.bits == 32 ? 32 : 64;
    if (ifm2->bits != bits || !ifm2->used) {
        return npu_fail(npu, NPU_FAULT_PARSE, "begins with an IFM2 of %u bits, needs %u in memory",
                        ifm2->bits, bits);
    }
    ifm2->height = ofm->height;
    ifm2->width = ofm->width;
    ifm2->depth = ofm->depth;
    return true;
}

/** The accumulators left by the previous operation must have this operation's shape. */
static bool check_kept(struct npu *npu, const struct npu_feature_map *ofm)
{
    const struct npu_kept *kept = &npu->run.kept;
    if (kept->height == ofm->height && kept->width == ofm->width && kept->depth == ofm->depth) {
        return true;
    }
    return npu_fail(npu, NPU_FAULT_PARSE,
                    "keeps accumulators of %" PRIu32 "x%" PRIu32 "x%" PRIu32 ", but %" PRIu32
                    "x%" PRIu32 "x%" PRIu32 " were left",
                    ofm->height, ofm->width, ofm->depth, kept->height, kept->width, kept->depth);
}

bool npu_decode_accumulators(struct npu *npu, struct npu_op *op)
{
    struct npu_accumulators *accumulators = &op->accumulators;
    uint32_t format, input, leave;
    if (!npu_get_field(npu, NPU_FIELD_ACC_FORMAT, &format) ||
        !npu_get_field(npu, NPU_FIELD_ACC_INPUT, &input) ||
        !npu_get_field(npu, NPU_FIELD_ACC_LEAVE, &leave)) {
        return false;
    }
    accumulators->bits = npu->product->family->accumulator_bits[format];
    accumulators->input = (enum npu_accumulator_input)input;
    accumulators->leave = leave != 0;
    if (accumulators->bits == 0 || input > NPU_ACC_IFM2) {
        return npu_fail(npu, NPU_FAULT_PARSE, "has ACC_FORMAT %u with input %u, not supported",
                        (unsigned)format, (unsigned)input);
    }
    if (accumulators->leave) {
        op->output.map.used = false;
        op->output.arranged = false;
    }
    switch (accumulators->input) {
    case NPU_ACC_KEEP:
        return check_kept(npu, &op->output.map);
    case NPU_ACC_IFM2:
        return decode_ifm2(npu, op);
    default:
        return true;
    }
}

bool npu_accumulators_open(struct npu *npu, const struct npu_op *op,
                           struct npu_accumulator_rows *rows)
{
    const struct npu_feature_map *ofm = &op->output.map;
    size_t pixels = (size_t)ofm->height * ofm->width;
    *rows = (struct npu_accumulator_rows){
        op->accumulators, &op->ifm2, ofm->width, ofm->depth, NULL, NULL,
    };
    npu->run.kept = (struct npu_kept){0, 0, 0};
    if (op->accumulators.leave) {
        npu->run.kept = (struct npu_kept){ofm->height, ofm->width, ofm->depth};
    }
    if (op->accumulators.leave || op->accumulators.input == NPU_ACC_KEEP) {
        rows->kept = npu_scratch_get(npu, NPU_BUFFER_KEPT, pixels, ofm->depth * sizeof(int64_t));
        if (rows->kept == NULL) {
            return false;
        }
    }
    if (op->accumulators.input == NPU_ACC_IFM2) {
        rows->row =
            npu_scratch_get(npu, NPU_BUFFER_OPERAND, ofm->width, ofm->depth * sizeof(int64_t));
        return rows->row != NULL;
    }
    return true;
}

static int64_t *kept_at(const struct npu_accumulator_rows *rows, uint32_t y, uint32_t x)
{
    return rows->kept + ((size_t)y * rows->width + x) * rows->depth;
}

/** Copy pixels, wrapped to the accumulator width. */
static void wrap(const struct npu_accumulator_rows *rows, const int64_t *from, uint32_t count,
                 int64_t *to)
{
    for (size_t i = 0; i < (size_t)count * rows->depth; i++) {
        to[i] = npu_sign_extend((uint64_t)from[i], rows->accumulators.bits);
    }
}

bool npu_accumulators_start(struct npu *npu, const struct npu_accumulator_rows *rows, uint32_t y,
                            uint32_t x, uint32_t count, int64_t *values)
{
    size_t bytes = (size_t)count * rows->depth * sizeof *values;
    switch (rows->accumulators.input) {
    case NPU_ACC_RESET:
        memset(values, 0, bytes);
        return true;
    case NPU_ACC_KEEP:
        memcpy(values, kept_at(rows, y, x), bytes);
        return true;
    default:
        if (x == 0 && !npu_read_row_64(npu, rows->ifm2, y, rows->row)) {
            return false;
        }
        wrap(rows, rows->row + (size_t)x * rows->depth, count, values);
        return true;
    }
}

bool npu_accumulators_leave(const struct npu_accumulator_rows *rows, uint32_t y, uint32_t x,
                            uint32_t count, const int64_t *values)
{
    if (rows->accumulators.leave) {
        wrap(rows, values, count, kept_at(rows, y, x));
    }
    return rows->accumulators.leave;
}
