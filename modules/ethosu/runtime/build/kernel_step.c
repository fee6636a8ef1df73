// SPDX-License-Identifier: MIT
/** The step of every CPU operator, regardless of the file format. */
#include "runtime/build/kernel_call.h"

#include <string.h>

static int step_kernel(struct ethosu_model *model, const struct step *step)
{
    const struct kernel_call *call = step->cpu;
#ifdef ETHOSU_ENABLE_ASSERTS
    uint32_t needed = call->kernel->scratch == NULL ? 0 : call->kernel->scratch(call);
    if (needed != call->scratch_size) {
        stop_npu(model);
        return ETHOSU_MODEL_BAD_PLAN;
    }
#endif
    int status = call->kernel->run(call);
    if (model->poll.stopped) {
        return ETHOSU_MODEL_STOPPED;
    }
    if (status != ETHOSU_MODEL_OK) {
        stop_npu(model);
    }
    return status;
}

int kernel_add_step(struct builder *builder, const struct kernel *kernel, struct kernel_call *block,
                    size_t size)
{
    void *memory;
    block->kernel = kernel;
    block->poll = &builder->model->poll;
    TRY(build_object_back(builder, size, &memory));
    if (memory != NULL) {
        memcpy(memory, block, size);
    }
    struct step step = {.run = step_kernel, .cpu = memory};
    return build_step(builder, &step);
}
