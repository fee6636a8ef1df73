// SPDX-License-Identifier: MIT
/** Operations that this version cannot execute yet: each stops the stream. */
#include "npu_internal.h"

#define UNSUPPORTED(name)                                              \
    bool name(struct npu *npu, uint32_t param)                         \
    {                                                                  \
        (void)param;                                                   \
        return npu_fail(npu, NPU_FAULT_PARSE, "is not supported yet"); \
    }

UNSUPPORTED(npu_op_conv)
UNSUPPORTED(npu_op_depthwise)
UNSUPPORTED(npu_op_pool)
UNSUPPORTED(npu_op_elementwise)
UNSUPPORTED(npu_op_dma_start)
