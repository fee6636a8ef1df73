// SPDX-License-Identifier: MIT
/** Accumulators that outlive an operation. */
#include "accumulators.h"

#include <string.h>

#include "npu_internal.h"
#include "output.h"
#include "rounding.h"

static bool decode_ifm2(struct npu *npu, const struct npu_feature_map *ofm,
                        struct npu_accumulators *accumulators)
{
    struct npu_feature_map *ifm2 = &accumulators->ifm2;
    if (!npu_decode_ifm2(npu, ifm2)) {
        return false;
    }
    unsigned bits = accumulators->bits == 32 ? 32 : 64;
    if (ifm2->bits != bits || !ifm2->used) {
        return npu_fail(npu, NPU_FAULT_PARSE, "begins with an IFM2 of %u bits, needs %u in memory",
                        ifm2->bits, bits);
    }
    ifm2->height = ofm->height;
    ifm2->width = ofm->width;
    ifm2->depth = ofm->depth;
    accumulators->row =
        npu_scratch_get(npu, NPU_BUFFER_OPERAND, ofm->width, ofm->depth * sizeof(int64_t));
    return accumulators->row != NULL && npu_map_open(npu, NPU_READ_IFM, ifm2);
}

/** What the operation before this one left has the shape of this one. */
static bool check_kept(struct npu *npu, const struct npu_feature_map *ofm)
{
    const struct npu_kept *kept = &npu->run.kept;
    return (kept->height == ofm->height && kept->width == ofm->width &&
            kept->depth == ofm->depth) ||
           npu_fail(npu, NPU_FAULT_PARSE, "keeps accumulators of %ux%ux%u, but %ux%ux%u were left",
                    ofm->height, ofm->width, ofm->depth, kept->height, kept->width, kept->depth);
}

bool npu_accumulators_open(struct npu *npu, struct npu_output *output,
                           struct npu_accumulators *accumulators)
{
    const struct npu_feature_map *ofm = &output->map;
    uint32_t format, input, leave;
    if (!npu_get_field(npu, NPU_FIELD_ACC_FORMAT, &format) ||
        !npu_get_field(npu, NPU_FIELD_ACC_INPUT, &input) ||
        !npu_get_field(npu, NPU_FIELD_ACC_LEAVE, &leave)) {
        return false;
    }
    *accumulators = (struct npu_accumulators){
        .bits = npu->product->family->accumulator_bits[format],
        .input = (enum npu_accumulator_input)input,
        .leave = leave != 0,
        .width = ofm->width,
        .depth = ofm->depth,
    };
    if (accumulators->bits == 0 || input > NPU_ACC_IFM2) {
        return npu_fail(npu, NPU_FAULT_PARSE, "has ACC_FORMAT %u with input %u, not supported",
                        (unsigned)format, (unsigned)input);
    }
    if ((input == NPU_ACC_IFM2 && !decode_ifm2(npu, ofm, accumulators)) ||
        (input == NPU_ACC_KEEP && !check_kept(npu, ofm))) {
        return false;
    }
    npu->run.kept = (struct npu_kept){0, 0, 0};
    if (leave != 0) {
        npu->run.kept = (struct npu_kept){ofm->height, ofm->width, ofm->depth};
        npu_output_drop(npu, output);
    }
    if (leave != 0 || input == NPU_ACC_KEEP) {
        accumulators->kept = npu_scratch_get(npu, NPU_BUFFER_KEPT, (size_t)ofm->height * ofm->width,
                                             ofm->depth * sizeof(int64_t));
        return accumulators->kept != NULL;
    }
    return true;
}

static int64_t *kept_at(const struct npu_accumulators *accumulators, uint32_t y, uint32_t x)
{
    return accumulators->kept + ((size_t)y * accumulators->width + x) * accumulators->depth;
}

/** Copy pixels as accumulators of their width hold them. */
static void wrap(const struct npu_accumulators *accumulators, const int64_t *from, uint32_t count,
                 int64_t *to)
{
    for (size_t i = 0; i < (size_t)count * accumulators->depth; i++) {
        to[i] = npu_sign_extend((uint64_t)from[i], accumulators->bits);
    }
}

bool npu_accumulators_start(struct npu *npu, const struct npu_accumulators *accumulators,
                            uint32_t y, uint32_t x, uint32_t count, int64_t *values)
{
    size_t bytes = (size_t)count * accumulators->depth * sizeof *values;
    switch (accumulators->input) {
    case NPU_ACC_RESET:
        memset(values, 0, bytes);
        return true;
    case NPU_ACC_KEEP:
        memcpy(values, kept_at(accumulators, y, x), bytes);
        return true;
    default:
        if (x == 0 && !npu_read_row_64(npu, &accumulators->ifm2, y, accumulators->row)) {
            return false;
        }
        wrap(accumulators, accumulators->row + (size_t)x * accumulators->depth, count, values);
        return true;
    }
}

bool npu_accumulators_leave(const struct npu_accumulators *accumulators, uint32_t y, uint32_t x,
                            uint32_t count, const int64_t *values)
{
    if (accumulators->leave) {
        wrap(accumulators, values, count, kept_at(accumulators, y, x));
    }
    return accumulators->leave;
}
