// SPDX-License-Identifier: MIT
/** Runs the steps of a loaded model: inference and initialisation. */
#include "runtime/run/model.h"

#include "arm_ethos_io_memcpy.h"
#include "driver/base/ethosu_build.h"

#include <string.h>

bool poll_now(struct poll *poll)
{
    poll->stopped = poll->stopped || (poll->stop != NULL && poll->stop(poll->argument));
    poll->left = poll->stopped ? 0 : POLL_UNITS;
    return poll->stopped;
}

/** Bytes copied or filled between two polls, their work in units, and that of any step. */
enum { COPY_BLOCK = 1 << 16, COPY_UNITS = COPY_BLOCK / 16, STEP_UNITS = 16 };

int step_copy(struct ethosu_model *model, const struct step *step)
{
    uint8_t *to = step->copy.destination;
    const uint8_t *from = step->copy.source;
    uint32_t left = step->copy.size;
    for (; left > COPY_BLOCK; left -= COPY_BLOCK, to += COPY_BLOCK, from += COPY_BLOCK) {
        arm_ethos_io_memcpy(to, from, COPY_BLOCK);
        if (poll_stops(&model->poll, COPY_UNITS)) {
            return ETHOSU_MODEL_STOPPED;
        }
    }
    arm_ethos_io_memcpy(to, from, left);
    return poll_stops(&model->poll, (int32_t)(left / 16)) ? ETHOSU_MODEL_STOPPED : ETHOSU_MODEL_OK;
}

int step_fill(struct ethosu_model *model, const struct step *step)
{
    (void)model;
    memset(step->fill.destination, step->fill.value, step->fill.size);
    return ETHOSU_MODEL_OK;
}

int step_jump(struct ethosu_model *model, const struct step *step)
{
    (void)model;
    for (uint32_t i = 0; i < step->jump.size; i++) {
        if (step->jump.condition[i] == 0) {
            return STEP_JUMPS;
        }
    }
    return step->jump.condition == NULL ? STEP_JUMPS : ETHOSU_MODEL_OK;
}

RARE int npu_call_prepare(const struct ethosu_model *model, struct npu_call *call,
                          struct ethosu_driver *driver)
{
    uint64_t base[NPU_BASES_MAX];
    size_t size[NPU_BASES_MAX];
    unsigned flags = ETHOSU_EXT_CONSTANTS | ETHOSU_EXT_OWN_LINES |
                     (model->skip_verify ? ETHOSU_EXT_NO_VERIFY : 0);
    const uint32_t bases = call->program.count;
    for (uint32_t i = 0; i < bases; i++) {
        base[i] = (uintptr_t)npu_bases(call)[i].data;
        size[i] = npu_bases(call)[i].size;
    }
    const struct npu_base *fast = &npu_bases(call)[NPU_FAST_SCRATCH];
    if (fast->data == NULL && fast->size != 0 && !ethosu_ext_has_fast_memory(driver)) {
        return ethosu_ext_check_fast_memory(driver, fast->size); // the call is for another driver
    }
    return ethosu_ext_prepare(driver, &call->program, call->payload, call->payload_size, base, size,
                              (int)bases, flags);
}

int step_npu(struct ethosu_model *model, const struct step *step)
{
    struct npu_call *call = step->npu;
    struct ethosu_driver *driver = model->driver;
    if (driver == NULL) {
        return ETHOSU_MODEL_NO_NPU;
    }
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

RARE void stop_npu(struct ethosu_model *model)
{
    if (model->first_call == NULL || model->driver == NULL) {
        return;
    }
    const struct ethosu_ext_program *program = ethosu_ext_last_program(model->driver);
    if (ethosu_ext_cancel(model->driver) == ETHOSU_EXT_E_BUSY) { // another thread stops it
        (void)ethosu_ext_wait_program(model->driver, program, ETHOSU_SEMAPHORE_WAIT_FOREVER);
    }
}

int step_initialised(struct ethosu_model *model, const struct step *step)
{
    model->first = step + 1;
    return ETHOSU_MODEL_OK;
}

RARE int run_initialisation(struct ethosu_model *model)
{
    int status = ETHOSU_MODEL_OK;
    model->first = model->steps;
    for (const struct init_step *init = model->init; init != NULL && status != ETHOSU_MODEL_STOPPED;
         init = init->next) {
        status = init->step.run(model, &init->step);
    }
    return status;
}

RARE void ethosu_model_reset(struct ethosu_model *model)
{
    // Initialisation must be complete, so it is not stopped; loading has limited its work.
    struct poll saved = model->poll;
    model->poll = (struct poll){.left = INT32_MAX};
    (void)run_initialisation(model);
    model->poll = saved;
}

/** Stop the inference and the NPU. */
static RARE int stop_inference(struct ethosu_model *model)
{
    stop_npu(model);
    model->poll.stopped = false;
    model->next = NULL;
    return ETHOSU_MODEL_STOPPED;
}

/** After a step has returned a status, run the next ones up to the end or the first that is not OK.
 */
static __attribute__((noinline)) int run_steps(struct ethosu_model *model, const struct step *step,
                                               int status)
{
    const struct step *end = model->steps + model->step_count;
    do {
        if (status == STEP_JUMPS) {
            step = model->steps + step->jump.target - 1;
            status = ETHOSU_MODEL_OK;
        }
        while (status == ETHOSU_MODEL_OK && ++step != end) {
            if (poll_stops(&model->poll, STEP_UNITS)) {
                return stop_inference(model);
            }
            status = step->run(model, step);
        }
    } while (status == STEP_JUMPS);
    model->next = status == ETHOSU_MODEL_PENDING ? step : NULL;
    return status == ETHOSU_MODEL_STOPPED ? stop_inference(model) : status;
}

int ethosu_model_start(struct ethosu_model *model, struct ethosu_driver *driver)
{
    if (model->next != NULL) {
        return ETHOSU_MODEL_BUSY;
    }
    if (model->step_count == 0) {
        return ETHOSU_MODEL_OK;
    }
    const struct step *step = model->first;
    model->driver = driver;
    model->next = step;
    int status = step->run(model, step);
    return status == ETHOSU_MODEL_PENDING ? status : run_steps(model, step, status);
}

/** The program that the NPU runs or ran last: that of the last step that started it. */
static const struct ethosu_ext_program *started_program(const struct ethosu_model *model)
{
    const struct step *step = model->next;
    while (!is_npu_step(step)) { // a step that waits for the NPU comes after one that starts it
        step--;
    }
    return &step->npu->program;
}

/** Continue an inference that waits for the NPU. */
static int continue_inference(struct ethosu_model *model, bool block)
{
    struct ethosu_driver *driver = model->driver;
    int waited =
        ethosu_ext_wait_program(driver, started_program(model), block ? driver->timeout : 0);
    if (waited > 0) {
        return ETHOSU_MODEL_PENDING;
    }
    const struct step *step = model->next;
    model->next = NULL;
    if (waited < 0) {
        return ETHOSU_MODEL_NPU_FAILED;
    }
    if (step + 1 == model->steps + model->step_count) {
        return ETHOSU_MODEL_OK;
    }
    model->next = step;
    // The time-out covers all NPU calls, so polling shortens it.
    return poll_now(&model->poll) ? stop_inference(model) : run_steps(model, step, ETHOSU_MODEL_OK);
}

int ethosu_model_resume(struct ethosu_model *model, bool block)
{
    return model->next == NULL ? ETHOSU_MODEL_OK : continue_inference(model, block);
}

/** Run a model that is a single NPU call, the usual one, without the steps in between. */
static int invoke_call(struct ethosu_model *model, struct ethosu_driver *driver)
{
    const struct step *step = model->steps;
    struct npu_call *call = step->npu;
    model->next = step; // another start is refused meanwhile
    model->driver = driver;
    int error = 0;
    if (call->program.owner != driver) {
        error = npu_call_prepare(model, call, driver);
    }
    if (error == 0) {
        error = ethosu_ext_run(driver, &call->program, NULL, driver->timeout);
    }
    model->next = NULL;
    return error == 0 ? ETHOSU_MODEL_OK : ETHOSU_MODEL_NPU_FAILED;
}

int ethosu_model_invoke(struct ethosu_model *model, struct ethosu_driver *driver)
{
    // A time-out of 0 does not end the wait below.
    if (!ETHOSU_FOR_SIZE && model_is_one_call(model) && model->next == NULL && driver != NULL &&
        driver->timeout != 0) {
        return invoke_call(model, driver);
    }
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
