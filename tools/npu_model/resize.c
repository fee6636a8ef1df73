// SPDX-License-Identifier: MIT
/** NPU_OP_RESIZE. */
#include "npu_internal.h"

bool npu_op_resize(struct npu *npu, uint32_t param)
{
    return npu_fail(npu, NPU_FAULT_PARSE, "mode %u is not supported", (unsigned)param);
}
