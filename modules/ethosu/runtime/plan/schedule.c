// SPDX-License-Identifier: MIT
/**
 * Finds the operators that the CPU runs concurrently with the NPU: those after an
 * NPU call, up to the first one that reads or writes memory of this call.
 *
 * The call is split into two steps, its start and its end, with these operators
 * in between. `ethosu compile` orders operators and chooses offsets for this;
 * the decision here depends only on the offsets.
 */
#include "runtime/plan/schedule.h"

#include "ethosu_memory.h"
#include "runtime/kernels/shared/kernel.h"
#include "runtime/kernels/shared/plan_reader.h"

/**
 * Minimum gap in bytes between memory of the CPU and of the NPU, relative to
 * multiples of ETHOSU_MODEL_ALIGNMENT, so that no cache line contains both,
 * regardless of the arena's address. `ethosu compile` assumes 32-byte lines.
 */
static uint64_t gap(void)
{
    size_t line = ethosu_ext_memory_line();
    return (line > 32 ? line : 32) - ETHOSU_MODEL_ALIGNMENT;
}

static bool in_range(const struct arena_range *range, uint64_t start, uint64_t size)
{
    uint64_t first = range->start & ~(uint64_t)(ETHOSU_MODEL_ALIGNMENT - 1);
    uint64_t end = ((uint64_t)range->end + ETHOSU_MODEL_ALIGNMENT - 1) &
                   ~(uint64_t)(ETHOSU_MODEL_ALIGNMENT - 1);
    return range->end > range->start && start < end + gap() && start + size + gap() > first;
}

static bool in_npu_memory(const struct builder *builder, uint32_t start, uint32_t size)
{
    const struct arena_range *ranges = builder->overlap.ranges;
    return in_range(&ranges[0], start, size) || in_range(&ranges[1], start, size);
}

/** Does any of these tensors overlap the NPU's memory? */
static bool any_in_npu_memory(struct builder *builder, const struct fb_vector *tensors)
{
    for (uint32_t i = 0; i < tensors->count; i++) {
        uint32_t index = fb_u32_at(&builder->file.fb, tensors, i);
        int32_t offset = index == TFLITE_NO_TENSOR ? -1 : tflite_get_offset(&builder->file, index);
        struct tflite_tensor tensor;
        if (offset >= 0 && (!build_get_tensor(builder, index, &tensor) ||
                            in_npu_memory(builder, (uint32_t)offset, tensor.size))) {
            return true;
        }
    }
    return false;
}

/** Does the operator use only its tensors and its scratch? Variables are separate memory. */
static bool is_plain(const struct tflite_operator_call *call)
{
    return call->code == TFLITE_RESHAPE || call->code == TFLITE_SQUEEZE ||
           call->code == TFLITE_EXPAND_DIMS || kernel_find(call) != NULL;
}

static bool can_overlap(struct builder *builder, const struct tflite_operator_call *call)
{
    if (!is_plain(call) || any_in_npu_memory(builder, &call->inputs) ||
        any_in_npu_memory(builder, &call->outputs)) {
        return false;
    }
    struct plan_scratch scratch = plan_find_scratch(builder);
    return scratch.size == 0 || !in_npu_memory(builder, scratch.offset, scratch.size);
}

int schedule_operator(struct builder *builder, const struct tflite_operator_call *call)
{
    struct npu_overlap *overlap = &builder->overlap;
    if (!overlap->active || builder->graph_index != 0) {
        return ETHOSU_MODEL_OK;
    }
    if (!can_overlap(builder, call)) {
        return schedule_end(builder);
    }
    overlap->operators++;
    if (overlap->step != NULL) {
        overlap->step->run = step_npu_start;
    }
    return ETHOSU_MODEL_OK;
}

void schedule_npu(struct builder *builder, struct step *step)
{
    builder->overlap.active = true;
    builder->overlap.operators = 0;
    builder->overlap.step = step;
}

int schedule_end(struct builder *builder)
{
    bool overlapped = builder->overlap.active && builder->overlap.operators != 0;
    builder->overlap.active = false;
    struct step end = {.run = step_npu_end};
    return overlapped ? build_step(builder, &end) : ETHOSU_MODEL_OK;
}
