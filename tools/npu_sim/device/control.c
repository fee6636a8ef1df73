// SPDX-License-Identifier: MIT
/** The commands that only control the stream. */
#include "core/npu_internal.h"
#include "device/device.h"
#include "time/timing.h"

bool npu_stop(struct npu *npu, uint32_t param)
{
    npu->run.irq_mask |= (uint16_t)param;
    npu->run.stopped = true;
    return true;
}

bool npu_irq(struct npu *npu, uint32_t param)
{
    npu->run.irq_mask |= (uint16_t)param;
    npu->run.interrupted = true;
    return true;
}

/** Copies are done immediately; only the time estimate waits. */
bool npu_dma_wait(struct npu *npu, uint32_t param)
{
    npu_wait_copies(npu, param);
    return true;
}

bool npu_kernel_wait(struct npu *npu, uint32_t param)
{
    npu_wait_kernels(npu, param);
    return true;
}
