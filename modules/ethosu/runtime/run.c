// SPDX-License-Identifier: MIT
/** Runs the steps of a loaded model: inference and initialisation. */
#include "model.h"

#include "arm_ethos_io_memcpy.h"

#include <string.h>

int step_copy(struct ethosu_model *model, const struct step *step)
{
    (void)model;
    arm_ethos_io_memcpy(step->copy.destination, step->copy.source, step->copy.size);
    return ETHOSU_MODEL_OK;
}

int step_fill(struct ethosu_model *model, const struct step *step)
{
    (void)model;
    memset(step->fill.destination, step->fill.value, step->fill.size);
    return ETHOSU_MODEL_OK;
}

int npu_call_prepare(const struct ethosu_model *model, struct npu_call *call,
                     struct ethosu_driver *driver)
{
    uint64_t base[NPU_BASES];
    unsigned flags = ETHOSU_EXT_CONSTANTS | ETHOSU_EXT_OWN_LINES |
                     (model->skip_verify ? ETHOSU_EXT_NO_VERIFY : 0);
    for (uint32_t i = 0; i < NPU_BASES; i++) {
        base[i] = (uintptr_t)call->base[i];
    }
    return ethosu_ext_prepare(driver, &call->program, call->payload, call->payload_size, base,
                              call->size, (int)NPU_BASES, flags);
}

int step_npu(struct ethosu_model *model, const struct step *step)
{
    struct npu_call *call = step->npu;
    struct ethosu_driver *driver = model->driver;
    if (call->program.owner != driver && npu_call_prepare(model, call, driver) != 0) {
        return ETHOSU_MODEL_NPU_FAILED;
    }
    return ethosu_ext_start(driver, &call->program, NULL) == 0 ? ETHOSU_MODEL_PENDING
                                                               : ETHOSU_MODEL_NPU_FAILED;
}

int step_npu_start(struct ethosu_model *model, const struct step *step)
{
    int status = step_npu(model, step);
    return status == ETHOSU_MODEL_PENDING ? ETHOSU_MODEL_OK : status;
}

int step_npu_end(struct ethosu_model *model, const struct step *step)
{
    (void)model;
    (void)step;
    return ETHOSU_MODEL_PENDING;
}

void stop_npu(struct ethosu_model *model)
{
    if (model->npu_calls != 0) {
        ethosu_ext_cancel(model->driver);
    }
}

int step_initialised(struct ethosu_model *model, const struct step *step)
{
    model->first = step + 1;
    return ETHOSU_MODEL_OK;
}

void ethosu_model_reset(struct ethosu_model *model)
{
    model->first = model->steps;
    for (const struct init_step *init = model->init; init != NULL; init = init->next) {
        init->step.run(model, &init->step);
    }
}

/** Run the steps from this one to the end, or to the first that does not return OK. */
static int run_steps(struct ethosu_model *model, const struct step *step)
{
    const struct step *end = model->steps + model->step_count;
    int status = ETHOSU_MODEL_OK;
    while (step != end && (status = step->run(model, step)) == ETHOSU_MODEL_OK) {
        step++;
    }
    model->next = status == ETHOSU_MODEL_PENDING ? step : NULL;
    return status;
}

int ethosu_model_start(struct ethosu_model *model, struct ethosu_driver *driver)
{
    if (model->next != NULL) {
        return ETHOSU_MODEL_BUSY;
    }
    model->driver = driver;
    model->next = model->first;
    return run_steps(model, model->next);
}

/** Continue an inference that waits for the NPU. */
static int continue_inference(struct ethosu_model *model, bool block)
{
    int waited = ethosu_wait(model->driver, block);
    if (waited > 0) {
        return ETHOSU_MODEL_PENDING;
    }
    if (waited < 0) {
        model->next = NULL;
        return ETHOSU_MODEL_NPU_FAILED;
    }
    return run_steps(model, model->next + 1);
}

int ethosu_model_resume(struct ethosu_model *model, bool block)
{
    return model->next == NULL ? ETHOSU_MODEL_OK : continue_inference(model, block);
}

int ethosu_model_invoke(struct ethosu_model *model, struct ethosu_driver *driver)
{
    int status = ethosu_model_start(model, driver);
    while (status == ETHOSU_MODEL_PENDING) {
        status = continue_inference(model, true);
    }
    return status;
}

void ethosu_model_forget(struct ethosu_model *model)
{
    model->next = NULL;
}
