// SPDX-License-Identifier: MIT
/** Decoding of the output stage and input scales from the command registers. */
#include <assert.h>

#include <inttypes.h>

#include "core/npu_internal.h"
#include "operands/operation.h"

void *npu_new_decoded(struct npu_op *op, size_t bytes)
{
    assert(bytes <= sizeof op->decoded_space); // each caller has a _Static_assert
    op->decoded = op->decoded_space;
    return op->decoded_space;
}

bool npu_decode_rounding(struct npu *npu, enum npu_field field,
                         const int8_t modes[NPU_ROUNDING_MODES], enum npu_rounding *rounding)
{
    uint32_t value;
    if (!npu_get_field(npu, field, &value)) {
        return false;
    }
    if (modes[value] < 0) {
        return npu_fail(npu, NPU_FAULT_PARSE, "has rounding mode %u", (unsigned)value);
    }
    *rounding = (enum npu_rounding)modes[value];
    return true;
}

static bool decode_input_scale(struct npu *npu, enum npu_field rounding, enum npu_field shift,
                               enum npu_field before, enum npu_field multiplier,
                               struct npu_input_scale *scale)
{
    uint32_t right, left;
    if (!npu_get_field(npu, shift, &right) || !npu_get_field(npu, before, &left) ||
        !npu_get_field(npu, multiplier, &scale->scale.multiplier) ||
        !npu_decode_rounding(npu, rounding, npu->product->family->input_rounding,
                             &scale->rounding)) {
        return false;
    }
    scale->before = left;
    scale->scale.shift = (uint8_t)(right + left);
    return true;
}

bool npu_decode_ifm_scale(struct npu *npu, struct npu_input_scale *scale)
{
    return decode_input_scale(npu, NPU_FIELD_IFM_ROUNDING, NPU_FIELD_IFM_SHIFT,
                              NPU_FIELD_IFM_DOUBLE_ROUND, NPU_FIELD_IFM_MULTIPLIER, scale);
}

bool npu_decode_ifm2_scale(struct npu *npu, struct npu_input_scale *scale)
{
    return decode_input_scale(npu, NPU_FIELD_IFM2_ROUNDING, NPU_FIELD_IFM2_SHIFT,
                              NPU_FIELD_IFM2_DOUBLE_ROUND, NPU_FIELD_IFM2_MULTIPLIER, scale);
}

bool npu_decode_ofm_scale(struct npu *npu, struct npu_scale *scale)
{
    uint64_t value;
    uint32_t shift, before;
    if (!npu_get(npu, NPU_SET_OFM_SCALE, &value) ||
        !npu_get_field(npu, NPU_FIELD_OFM_SHIFT, &shift) ||
        !npu_get_field(npu, NPU_FIELD_OFM_DOUBLE_ROUND, &before)) {
        return false;
    }
    if (before != 0) {
        return npu_fail(npu, NPU_FAULT_PARSE, "has an OFM scale of dbl_rnd %" PRIu32, before);
    }
    *scale = (struct npu_scale){(uint32_t)value, (uint8_t)shift};
    return true;
}

/** What the simulator does not need, but a chip: the layout of SHRAM, and how operations overlap.
 */
static bool check_schedule(struct npu *npu)
{
    uint64_t overlap;
    uint32_t end, start;
    return npu_get(npu, NPU_SET_BLOCKDEP, &overlap) &&
           npu_get_field(npu, NPU_FIELD_IFM_BUFFER_END, &end) &&
           npu_get_field(npu, NPU_FIELD_ACC_BUFFER_START, &start);
}

static bool decode_block(struct npu *npu, struct npu_block *block)
{
    uint64_t height_m1, width_m1, depth_m1;
    uint32_t unit;
    if (!npu_get(npu, NPU_SET_OFM_BLK_HEIGHT_M1, &height_m1) ||
        !npu_get(npu, NPU_SET_OFM_BLK_WIDTH_M1, &width_m1) ||
        !npu_get(npu, NPU_SET_OFM_BLK_DEPTH_M1, &depth_m1) ||
        !npu_get_field(npu, NPU_FIELD_MICROBLOCK, &unit)) {
        return false;
    }
    if (unit >= NPU_MICROBLOCKS || npu->product->microblocks[unit].depth == 0) {
        return npu_fail(npu, NPU_FAULT_PARSE, "has microblock %u, which %s lacks", (unsigned)unit,
                        npu->product->name);
    }
    block->height = (uint32_t)height_m1 + 1;
    block->width = (uint32_t)width_m1 + 1;
    block->depth = (uint32_t)depth_m1 + 1;
    block->unit = npu->product->microblocks[unit];
    return true;
}

bool npu_decode_output(struct npu *npu, struct npu_op *op)
{
    struct npu_output *output = &op->output;
    uint32_t global;
    if (!npu_decode_ofm(npu, &output->map) ||
        !npu_get_field(npu, NPU_FIELD_OFM_GLOBAL_SCALE, &global) ||
        !npu_get_field(npu, NPU_FIELD_OFM_REVERSE, &output->reverse) ||
        !npu_get_field(npu, NPU_FIELD_OFM_TRANSPOSE, &output->transpose) ||
        !npu_decode_rounding(npu, NPU_FIELD_OFM_ROUNDING, npu->product->family->output_rounding,
                             &output->rounding) ||
        !decode_block(npu, &op->block) || !check_schedule(npu) ||
        !npu_decode_activation(npu, output)) {
        return false;
    }
    output->global_scale = global != 0;
    bool adds_zero = output->map.bits < 32 || output->activation == NPU_ACTIVATION_TABLE;
    output->zero_point = adds_zero ? output->map.zero_point : 0;
    return npu_decode_arrangement(npu, output);
}
