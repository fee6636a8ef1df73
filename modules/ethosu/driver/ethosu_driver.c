// SPDX-License-Identifier: MIT
/**
 * The driver: life of a handle, and of the one inference that it may run.
 *
 *           start                interrupt           wait
 *     IDLE -------> STARTING,     ------>    DONE   ------> ENDING -> IDLE
 *                   RUNNING                                   ^
 *                      |   time-out, cancel, release, reset   |
 *                      +--------------------------------------+
 *
 * The interrupt handler makes the step RUNNING -> DONE and gives the semaphore
 * once for it; every other step belongs to a thread. Whoever makes the step to
 * ENDING clears up, alone: the state is the truth, the semaphore only wakes.
 */
#include "ethosu_ext.h"

#include "ethosu_memory.h"
#include "device.h"
#include "ethosu_fault.h"
#include "ethosu_log.h"
#include "ethosu_pool.h"
#include "ethosu_streams.h"

/** The interrupt handler gives right after its step; how long to wait for that. */
#define GIVE_LATENCY ETHOSU_EXT_SECOND

static inline enum ethosu_job_state state_of(const struct ethosu_driver *drv)
{
    return __atomic_load_n(&drv->job.state, __ATOMIC_ACQUIRE);
}

static inline void set_state(struct ethosu_driver *drv, enum ethosu_job_state state)
{
    __atomic_store_n(&drv->job.state, state, __ATOMIC_RELEASE);
}

/** Make a step; false when the state was another one. */
static inline bool step(struct ethosu_driver *drv, enum ethosu_job_state from,
                        enum ethosu_job_state to)
{
    return __atomic_compare_exchange_n(&drv->job.state, &from, to, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_ACQUIRE);
}

/** The interrupt handler and who stops the NPU may do so at the same time. */
static inline void set_status(struct ethosu_driver *drv, uint32_t status)
{
    __atomic_store_n(&drv->job.status, status, __ATOMIC_RELAXED);
}

static int fail(struct ethosu_driver *drv, int code, int index)
{
    return ethosu_ext_fail(&drv->fault, code, index);
}

/* ---- life of a handle ---- */

/** Does the board route what this NPU writes to a port that only reads? */
static int check_ports(const struct ethosu_device *dev, struct ethosu_ext_fault *fault)
{
    const struct ethosu_board *board = ethosu_ext_memory_board();
    for (size_t i = 0; i < board->memory_count; i++) {
        const struct ethosu_memory *memory = &board->memories[i];
        uint32_t config = memory->port - (uint32_t)ETHOSU_PORT_0;
        if (memory->port != ETHOSU_PORT_DEFAULT && (memory->masters & ETHOSU_NPU_WRITES) &&
            (dev->part->reads_only >> config & 1)) {
            return ethosu_ext_refuse(fault, ETHOSU_EXT_E_BOARD_PORT, (int)i, config, 0);
        }
    }
    return 0;
}

/** Switch the NPU's clock and power, where the board can. */
static inline int switch_power(struct ethosu_driver *drv, bool on)
{
    if (drv->dev.power == NULL || drv->dev.power(drv->dev.npu, on) || !on) {
        return 0;
    }
    return fail(drv, ETHOSU_EXT_E_POWER, -1);
}

/** Nobody needs clock and power any more. */
static void power_down(struct ethosu_driver *drv)
{
    ethosu_ext_device_set_power(&drv->dev, false);
    (void)switch_power(drv, false);
}

/** Reset the NPU, keeping its power as requested. The fault is filled in only on failure. */
static int reset_npu(struct ethosu_driver *drv, struct ethosu_ext_fault *fault)
{
    ETHOSU_EXT_LOG_DEBUG("reset");
    drv->resets++;
    RETURN_IF_ERROR(ethosu_ext_device_reset(&drv->dev, drv->semaphore, fault));
    ethosu_ext_device_set_power(&drv->dev, drv->power_request_counter > 0);
    return 0;
}

/** Find the NPU and bring it into its initial state. Its power is on. */
static int bring_up(struct ethosu_driver *drv)
{
    RETURN_IF_ERROR(ethosu_ext_device_probe(&drv->dev, &drv->fault));
    RETURN_IF_ERROR(check_ports(&drv->dev, &drv->fault));
    return reset_npu(drv, &drv->fault);
}

/** Bring the NPU up, and offer it to those who wait for one. */
static int enlist(struct ethosu_driver *drv)
{
    drv->semaphore = ethosu_ext_semaphore_take_one();
    if (drv->semaphore == NULL) {
        return fail(drv, ETHOSU_EXT_E_NO_SEMAPHORE, -1);
    }
    int error = switch_power(drv, true);
    if (error == 0) {
        error = bring_up(drv);
        (void)switch_power(drv, false);
    }
    if (error == 0) { // last: a caller that waits for an NPU may use it from now on
        error = ethosu_ext_pool_add(drv, &drv->fault);
    }
    if (error != 0) {
        ethosu_ext_semaphore_keep(drv->semaphore);
        drv->semaphore = NULL;
    }
    return error;
}

/** How ethosu_init() and ethosu_init_ex() go on, with what tells them apart in `dev`. */
static int init(struct ethosu_driver *drv, const struct ethosu_device *dev, const void *fast_memory,
                size_t fast_memory_size)
{
    ethosu_deinit(drv); // does nothing to a handle that is new
    *drv = (struct ethosu_driver){
        .dev = *dev,
        .fast_memory = (uintptr_t)fast_memory,
        .fast_memory_size = fast_memory_size,
        .timeout = ETHOSU_SEMAPHORE_WAIT_INFERENCE,
        .settings = ethosu_ext_new_settings(),
    };
    if (drv->dev.reg == NULL) {
        fail(drv, ETHOSU_EXT_E_ARGUMENT, 1);
        return -1;
    }
    drv->dev.npu = ethosu_ext_memory_npu((uintptr_t)drv->dev.reg);
    drv->dev.power = drv->dev.npu != NULL ? drv->dev.npu->power : NULL;
    if (enlist(drv) != 0) {
        return -1;
    }
#if ETHOSU_LOG_SEVERITY >= ETHOSU_LOG_INFO
    char name[ETHOSU_EXT_CONFIG_NAME_SIZE];
    ethosu_ext_config_name(drv->dev.config_register, name);
    ethosu_ext_log(ETHOSU_LOG_INFO, name);
#endif
    return 0;
}

int ethosu_init(struct ethosu_driver *drv, void *const base_address, const void *fast_memory,
                const size_t fast_memory_size, uint32_t secure_enable, uint32_t privilege_enable)
{
    const struct ethosu_device dev = {.reg = (volatile struct NPU_REG *)base_address,
                                      .secure = secure_enable,
                                      .privileged = privilege_enable};
    return drv != NULL ? init(drv, &dev, fast_memory, fast_memory_size) : -1;
}

int ethosu_init_ex(struct ethosu_driver *drv, const struct ethosu_device_desc *dev_desc,
                   struct ethosu_device_config *dev_config,
                   struct ethosu_device_user_ops *dev_user_ops, void *const base_address,
                   const void *fast_memory, const size_t fast_memory_size, uint32_t secure_enable,
                   uint32_t privilege_enable)
{
    const struct ethosu_device dev = {.reg = (volatile struct NPU_REG *)base_address,
                                      .secure = secure_enable,
                                      .privileged = privilege_enable,
                                      .desc = dev_desc,
                                      .user_ops = dev_user_ops,
                                      .config = dev_config};
    bool complete =
        dev_desc != NULL && dev_config != NULL && dev_config->config != NULL && drv != NULL;
    return complete ? init(drv, &dev, fast_memory, fast_memory_size) : -1;
}

void ethosu_deinit(struct ethosu_driver *drv)
{
    if (ethosu_ext_pool_remove(drv)) {
        (void)ethosu_ext_cancel(drv);
        if (drv->power_request_counter > 0) {
            power_down(drv);
        }
        ethosu_ext_semaphore_keep(drv->semaphore);
        drv->semaphore = NULL;
    }
}

/* ---- power and reset ---- */

int ethosu_soft_reset(struct ethosu_driver *drv)
{
    if (state_of(drv) != ETHOSU_JOB_IDLE) {
        return ethosu_ext_cancel(drv) == 0 ? 0 : -1;
    }
    if (drv->power_request_counter != 0) {
        return reset_npu(drv, &drv->fault) == 0 ? 0 : -1;
    }
    if (switch_power(drv, true) != 0) {
        return -1;
    }
    int error = reset_npu(drv, &drv->fault);
    (void)switch_power(drv, false);
    return error == 0 ? 0 : -1;
}

/** Clock and power, at the first request. */
static int power_up(struct ethosu_driver *drv)
{
    RETURN_IF_ERROR(switch_power(drv, true));
    int error = ethosu_ext_device_power_up(&drv->dev, drv->semaphore, &drv->fault);
    if (error != 0) {
        (void)switch_power(drv, false);
    }
    return error;
}

/** In line: each inference asks. */
static inline __attribute__((always_inline)) int request_power(struct ethosu_driver *drv)
{
    if (drv->power_request_counter++ != 0) {
        return 0;
    }
    int error = drv->dev.power != NULL
                    ? power_up(drv)
                    : ethosu_ext_device_power_up(&drv->dev, drv->semaphore, &drv->fault);
    if (__builtin_expect(error != 0, 0)) {
        drv->power_request_counter--;
    }
    return error;
}

int ethosu_request_power(struct ethosu_driver *drv)
{
    return request_power(drv) == 0 ? 0 : -1;
}

void ethosu_release_power(struct ethosu_driver *drv)
{
    if (drv->power_request_counter == 0) {
        fail(drv, ETHOSU_EXT_E_POWER_UNDERFLOW, -1);
    } else if (--drv->power_request_counter == 0) {
        power_down(drv);
    }
}

/* ---- an inference ---- */

/** The base pointer of the lowest bit. */
static inline const struct ethosu_ext_base *first_base(const struct ethosu_ext_program *program,
                                                       uint32_t mask)
{
    return &program->base[__builtin_ctz(mask)];
}

/** Bring what the CPU wrote to memory, and leave no dirty line where the NPU writes. */
static void clean_caches(const struct ethosu_ext_program *program)
{
    for (uint32_t mask = program->clean; mask != 0; mask &= mask - 1) {
        const struct ethosu_ext_base *base = first_base(program, mask);
        ethosu_flush_dcache(&base->cpu, &base->size, 1);
    }
}

/** Drop the CPU's copies of what the NPU wrote. */
static void discard_caches(const struct ethosu_ext_program *program)
{
    for (uint32_t mask = program->discard; mask != 0; mask &= mask - 1) {
        const struct ethosu_ext_base *base = first_base(program, mask);
        ethosu_invalidate_dcache(&base->discard, &base->discard_size, 1);
    }
}

/** Take the handle for one inference: IDLE -> STARTING. */
static int claim(struct ethosu_driver *drv)
{
    if (!drv->reserved) {
        return fail(drv, ETHOSU_EXT_E_NOT_RESERVED, -1);
    }
    if (!step(drv, ETHOSU_JOB_IDLE, ETHOSU_JOB_STARTING)) {
        return fail(drv, ETHOSU_EXT_E_BUSY, -1);
    }
    return 0;
}

/** The end of an inference of ethosu_invoke_*(): forget what it was given. */
static void forget_call(struct ethosu_job *job)
{
    ethosu_ext_stream_give_back(job->stream);
    job->stream = NULL;
    job->custom_data_ptr = NULL;
    job->custom_data_size = 0;
    job->base_addr = NULL;
    job->base_addr_size = NULL;
    job->num_base_addr = 0;
}

/** Start on a claimed handle: STARTING -> RUNNING, or back to IDLE. */
static int launch(struct ethosu_driver *drv, const struct ethosu_ext_program *program,
                  void *user_arg)
{
    clean_caches(program);
    if (request_power(drv) != 0) {
        if (drv->job.stream != NULL) {
            forget_call(&drv->job);
        }
        set_state(drv, ETHOSU_JOB_IDLE);
        return drv->fault.code;
    }
    drv->fault.code = ETHOSU_EXT_OK;
    drv->job.result = ETHOSU_JOB_RESULT_OK;
    drv->job.run = program;
    drv->job.user_arg = user_arg;
    ethosu_inference_begin(drv, user_arg);
    ETHOSU_EXT_LOG_DEBUG("start");
    set_state(drv, ETHOSU_JOB_RUNNING);
    ethosu_ext_device_start(&drv->dev, program);
    return 0;
}

/** What every end of an inference needs: ENDING -> IDLE. The NPU stands still. */
static void clear_up(struct ethosu_driver *drv)
{
    discard_caches(drv->job.run);
    ethosu_io_barrier(); // the CPU reads results after this, not before
    ethosu_inference_end(drv, drv->job.user_arg);
    ethosu_release_power(drv);
    ETHOSU_EXT_LOG_DEBUG("end");
    if (drv->job.stream != NULL) {
        forget_call(&drv->job);
    }
    set_state(drv, ETHOSU_JOB_IDLE);
}

/** Note why the NPU is stopped, with job.status; stop it, clear up: ENDING -> IDLE. */
static int break_off(struct ethosu_driver *drv, int code, uint64_t timeout)
{
    uint32_t qread = ethosu_io_read(drv->dev.reg, NPU_QREAD);
    struct ethosu_ext_fault why = {.code = code,
                                   .index = (int)qread,
                                   .found = ethosu_ext_milliseconds(timeout),
                                   .status = __atomic_load_n(&drv->job.status, __ATOMIC_RELAXED),
                                   .qread = qread};
    (void)ethosu_ext_report(&drv->fault, &why);
    bool late = code == ETHOSU_EXT_E_TIMEOUT || code == ETHOSU_EXT_E_IRQ_LOST;
    drv->job.result = late ? ETHOSU_JOB_RESULT_TIMEOUT : ETHOSU_JOB_RESULT_ERROR;

    struct ethosu_ext_fault reset_fault;
    int error = reset_npu(drv, &reset_fault);
    if (error != 0) {
        drv->fault = reset_fault;
    }
    clear_up(drv);
    return error;
}

static int time_out(struct ethosu_driver *drv, uint64_t timeout)
{
    uint32_t status = ethosu_io_read(drv->dev.reg, NPU_STATUS);
    set_status(drv, status);
    bool finished = !(status & ETHOSU_EXT_STATUS_RUNNING);
    drv->timeouts++;
    (void)break_off(drv, finished ? ETHOSU_EXT_E_IRQ_LOST : ETHOSU_EXT_E_TIMEOUT, timeout);
    return -1;
}

/** Take the result: DONE -> ENDING -> IDLE. */
static int conclude(struct ethosu_driver *drv, bool taken)
{
    if (!step(drv, ETHOSU_JOB_DONE, ETHOSU_JOB_ENDING)) {
        fail(drv, ETHOSU_EXT_E_NOT_STARTED, -1);
        return -2;
    }
    if (!taken) {
        (void)ethosu_semaphore_take(drv->semaphore, GIVE_LATENCY);
    }
    if (!ethosu_ext_device_succeeded(&drv->dev, drv->job.status)) {
        (void)break_off(drv, ETHOSU_EXT_E_NPU_FAULT, 0);
        return -1;
    }
    clear_up(drv);
    return 0;
}

bool ethosu_ext_is_running(const struct ethosu_driver *drv)
{
    enum ethosu_job_state state = state_of(drv);
    return state == ETHOSU_JOB_RUNNING || state == ETHOSU_JOB_STARTING;
}

int ethosu_ext_wait(struct ethosu_driver *drv, uint64_t timeout)
{
    bool taken = false;
    while (ethosu_ext_is_running(drv)) {
        if (timeout == 0) {
            return 1;
        }
        taken = ethosu_semaphore_take(drv->semaphore, timeout) >= 0;
        if (!taken && step(drv, ETHOSU_JOB_RUNNING, ETHOSU_JOB_ENDING)) {
            return time_out(drv, timeout);
        }
    }
    return conclude(drv, taken);
}

int ethosu_wait(struct ethosu_driver *drv, bool block)
{
    return ethosu_ext_wait(drv, block ? drv->timeout : 0);
}

int ethosu_ext_cancel(struct ethosu_driver *drv)
{
    if (step(drv, ETHOSU_JOB_RUNNING, ETHOSU_JOB_ENDING)) {
        set_status(drv, ethosu_io_read(drv->dev.reg, NPU_STATUS));
        return break_off(drv, ETHOSU_EXT_E_CANCELLED, 0);
    }
    if (state_of(drv) == ETHOSU_JOB_DONE) {
        (void)conclude(drv, false);
    }
    return state_of(drv) == ETHOSU_JOB_IDLE ? 0 : fail(drv, ETHOSU_EXT_E_BUSY, -1);
}

void ethosu_ext_wake(struct ethosu_driver *drv)
{
    (void)ethosu_semaphore_give(drv->semaphore);
}

int ethosu_ext_start(struct ethosu_driver *drv, const struct ethosu_ext_program *program,
                     void *user_arg)
{
    if (program->owner != drv) {
        return fail(drv, ETHOSU_EXT_E_OTHER_NPU, -1);
    }
    RETURN_IF_ERROR(claim(drv));
    return launch(drv, program, user_arg);
}

int ethosu_invoke_async(struct ethosu_driver *drv, const void *custom_data_ptr,
                        const int custom_data_size, uint64_t *const base_addr,
                        const size_t *base_addr_size, const int num_base_addr, void *user_arg)
{
    if (claim(drv) != 0) {
        return -1;
    }
    const struct ethosu_ext_call call = {
        custom_data_ptr, custom_data_size > 0 ? (size_t)custom_data_size : 0,
        base_addr,       base_addr_size,
        num_base_addr,
    };
    struct ethosu_ext_stream *stream = ethosu_ext_stream_find(drv, &call);
    if (stream == NULL) {
        set_state(drv, ETHOSU_JOB_IDLE);
        return -1;
    }
    drv->job.stream = stream;
    drv->job.custom_data_ptr = custom_data_ptr;
    drv->job.custom_data_size = custom_data_size;
    drv->job.base_addr = base_addr;
    drv->job.base_addr_size = base_addr_size;
    drv->job.num_base_addr = num_base_addr;
    return launch(drv, &stream->program, user_arg) == 0 ? 0 : -1;
}

int ethosu_invoke_v3(struct ethosu_driver *drv, const void *custom_data_ptr,
                     const int custom_data_size, uint64_t *const base_addr,
                     const size_t *base_addr_size, const int num_base_addr, void *user_arg)
{
    if (drv == NULL) {
        return ethosu_invoke_auto(custom_data_ptr, custom_data_size, base_addr, base_addr_size,
                                  num_base_addr, user_arg);
    }
    RETURN_IF_ERROR(ethosu_invoke_async(drv, custom_data_ptr, custom_data_size, base_addr,
                                        base_addr_size, num_base_addr, user_arg));
    return ethosu_wait(drv, true);
}

__attribute__((weak)) void ethosu_irq_handler(struct ethosu_driver *drv)
{
    uint32_t status;
    bool completed = ethosu_ext_device_acknowledge(&drv->dev, &status);
    if (!completed || state_of(drv) != ETHOSU_JOB_RUNNING) {
        ethosu_ext_add(&drv->spurious, 1);
        return;
    }
    set_status(drv, status); // seen by whoever sees the step to DONE
    if (step(drv, ETHOSU_JOB_RUNNING, ETHOSU_JOB_DONE)) {
        (void)ethosu_semaphore_give(drv->semaphore);
        if (drv->on_done != NULL) {
            drv->on_done(drv, drv->on_done_argument);
        }
    }
}
