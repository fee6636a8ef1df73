// SPDX-License-Identifier: MIT
/**
 * What the CPU does while the NPU works: the operators that follow an NPU call,
 * up to the first one that touches memory of this call, whether to read or to
 * write. Who shares no memory with the NPU can't depend on it, nor disturb it.
 *
 * The call becomes two steps, its start and its end, with these operators
 * between. `ethosu plan` sorts operators and places tensors to that end; here
 * nothing is believed but offsets.
 */
#include "builder.h"

#include "kernels/kernel.h"
#include "plan_check.h"

/**
 * Bytes that must lie between memory of the CPU and of the NPU, counted from
 * multiples of ETHOSU_MODEL_ALIGNMENT: with them no cache line (32 bytes) holds
 * both, wherever the arena begins.
 */
enum { GAP = 16 };

static bool meets_range(const struct arena_range *busy, uint64_t start, uint64_t size)
{
    uint64_t first = busy->start & ~(uint64_t)(ETHOSU_MODEL_ALIGNMENT - 1);
    uint64_t end = ((uint64_t)busy->end + ETHOSU_MODEL_ALIGNMENT - 1) &
                   ~(uint64_t)(ETHOSU_MODEL_ALIGNMENT - 1);
    return busy->end > busy->start && start < end + GAP && start + size + GAP > first;
}

static bool meets_npu(const struct builder *builder, uint32_t start, uint32_t size)
{
    const struct arena_range *ranges = builder->busy.ranges;
    return meets_range(&ranges[0], start, size) || meets_range(&ranges[1], start, size);
}

/** Does any of these tensors lie where the NPU works? */
static bool any_meets_npu(struct builder *builder, const struct fb_vector *tensors)
{
    for (uint32_t i = 0; i < tensors->count; i++) {
        uint32_t index = fb_u32_at(&builder->file.fb, tensors, i);
        int32_t offset = index == TFLITE_NO_TENSOR ? -1 : tflite_get_offset(&builder->file, index);
        struct tflite_tensor tensor;
        if (offset >= 0 && (!build_get_tensor(builder, index, &tensor) ||
                            meets_npu(builder, (uint32_t)offset, tensor.size))) {
            return true;
        }
    }
    return false;
}

/** Operators that touch nothing but their tensors and their scratch; variables lie elsewhere. */
static bool is_plain(const struct tflite_operator_call *call)
{
    return call->code == TFLITE_RESHAPE || call->code == TFLITE_SQUEEZE ||
           call->code == TFLITE_EXPAND_DIMS || kernel_find(call) != NULL;
}

static bool may_run_beside(struct builder *builder, const struct tflite_operator_call *call)
{
    if (!is_plain(call) || any_meets_npu(builder, &call->inputs) ||
        any_meets_npu(builder, &call->outputs)) {
        return false;
    }
    struct plan_scratch scratch = plan_find_scratch(builder);
    return scratch.size == 0 || !meets_npu(builder, scratch.offset, scratch.size);
}

int schedule_operator(struct builder *builder, const struct tflite_operator_call *call)
{
    struct busy_npu *busy = &builder->busy;
    if (!busy->open || builder->graph_index != 0) {
        return ETHOSU_MODEL_OK;
    }
    if (!may_run_beside(builder, call)) {
        return schedule_end(builder);
    }
    busy->beside++;
    if (busy->step != NULL) {
        busy->step->run = step_npu_start;
    }
    return ETHOSU_MODEL_OK;
}

void schedule_npu(struct builder *builder, struct step *step)
{
    builder->busy.open = true;
    builder->busy.beside = 0;
    builder->busy.step = step;
}

int schedule_end(struct builder *builder)
{
    bool beside = builder->busy.open && builder->busy.beside != 0;
    builder->busy.open = false;
    struct step end = {.run = step_npu_end};
    return beside ? build_step(builder, &end) : ETHOSU_MODEL_OK;
}
