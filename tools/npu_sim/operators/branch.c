// SPDX-License-Identifier: MIT
/** NPU_OP_BRANCH of Ethos-U85. */
#include <inttypes.h>

#include "core/npu_internal.h"
#include "memory/feature_map.h"
#include "operands/operation.h"

enum { BRANCH_ALWAYS = 0 };

/** The result flag: set if the last element of the last OFM is not 0. */
static bool read_result(struct npu *npu)
{
    struct npu_feature_map map = npu->run.last_ofm;
    if (!map.used || map.chained) {
        return npu_fail(npu, NPU_FAULT_BRANCH, "uses a result, but no operation stored one");
    }
    size_t elements = (size_t)map.width * map.depth;
    int64_t *row = npu_scratch_get(npu, NPU_BUFFER_ROWS, elements, sizeof *row);
    map.zero_point = 0;
    if (row == NULL || !npu_read_row_64(npu, &map, map.height - 1, row)) {
        return false;
    }
    npu->result_flag = row[elements - 1] != 0;
    return true;
}

/** The target is an offset from QBASE. */
static bool decode(struct npu *npu, struct npu_op *op)
{
    const struct npu_run *run = &npu->run;
    (void)op;
    if (run->payload % 4 == 0 && run->payload < run->qsize) {
        return true;
    }
    return npu_fail(npu, NPU_FAULT_BRANCH,
                    "targets 0x%" PRIx32 ", outside the stream of 0x%" PRIx32 " bytes",
                    run->payload, run->qsize);
}

/** Operations complete immediately, so the result is final. */
static bool execute(struct npu *npu, const struct npu_op *op)
{
    if (op->param != BRANCH_ALWAYS && !read_result(npu)) {
        return false;
    }
    if (op->param == BRANCH_ALWAYS || npu->result_flag) {
        npu->run.next = npu->run.payload;
    }
    return true;
}

const struct npu_operator npu_branch = {decode, execute};
