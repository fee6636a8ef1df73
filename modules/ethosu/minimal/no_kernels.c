// SPDX-License-Identifier: MIT
/**
 * In a build with ETHOSU_KERNELS=none, replaces runtime/kernels/ and runtime/plan/. Without CPU
 * operators, no scratch memory needs planning, and nothing runs in parallel to the NPU.
 */
#include "runtime/kernels/shared/kernel.h"
#include "runtime/plan/plan_check.h"
#include "runtime/kernels/shared/plan_reader.h"
#include "runtime/plan/schedule.h"

const struct kernel *kernel_find(const struct tflite_operator_call *call)
{
    (void)call;
    return NULL;
}

const struct kernel *kernel_with_code(uint32_t code)
{
    (void)code;
    return NULL;
}

int plan_open(struct builder *builder)
{
    (void)builder;
    return ETHOSU_MODEL_OK;
}

int plan_check_overlaps(struct builder *builder)
{
    (void)builder;
    return ETHOSU_MODEL_OK;
}

int schedule_operator(struct builder *builder, const struct tflite_operator_call *call)
{
    (void)builder;
    (void)call;
    return ETHOSU_MODEL_OK;
}

void schedule_npu(struct builder *builder, struct step *step)
{
    (void)builder;
    (void)step;
}

int schedule_end(struct builder *builder)
{
    (void)builder;
    return ETHOSU_MODEL_OK;
}
