// SPDX-License-Identifier: MIT
/**
 * What a build for the NPU's operator alone (ETHOSU_KERNELS=none) has instead of runtime/kernels/,
 * plan_check.c, plan_record.c and schedule.c: no CPU operator, so no plan for one, and nothing to
 * do beside the NPU.
 */
#include "kernels/kernel.h"
#include "plan_check.h"

const struct kernel *kernel_find(const struct tflite_operator_call *call)
{
    (void)call;
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
