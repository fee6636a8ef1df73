// SPDX-License-Identifier: MIT
/** Inferences of an `ethosu.Model`: write inputs, run, read outputs; see model_object.h. */
#include "binding/model/model_object.h"

#include "binding/call/raise.h"
#include "binding/model/exchange.h"
#include "binding/npu/job.h"
#include "ethosu_board.h"
#include "driver/base/ethosu_build.h"
#include "py/binary.h"
#include "py/mperrno.h"
#include "py/runtime.h"

/** The inference has ended, or was stopped: the NPU is free for others. */
static inline void release_npu(const model_obj_t *self)
{
    struct ethosu_driver *npu = self->npu;
    job_end(npu);
    if (self->handle == NULL) {
        ethosu_release_driver(npu);
    }
}

/** job_stop() has stopped the NPU in the middle of an inference. */
static void on_stop(void *model)
{
    ethosu_model_forget(((model_obj_t *)model)->model);
    release_npu(model);
}

/** Reserve the model's NPU, if it is not, and begin a job on it. Raises. */
static inline struct ethosu_driver *acquire_npu(model_obj_t *self)
{
    struct ethosu_driver *npu = self->npu;
    job_check_idle(npu);
    if (self->handle != NULL) {
        job_reap_late(npu_reserved(MP_OBJ_FROM_PTR(self->handle))->npu);
    } else if (ethosu_ext_reserve_this(npu, 0) != 0) {
        npus_reserve(npu, 0);
    }
    job_begin(npu, self, on_stop);
    return npu;
}

bool model_must_stop(void *model)
{
    model_obj_t *self = model;
    if (!semaphore_run_events()) {
        return true;
    }
    if (self->model == NULL) {
        return false; // it is being loaded
    }
    // The time-out covers the whole inference; the NPU gets the remaining time.
    ethosu_ext_set_timeout(self->npu, deadline_left(&self->deadline));
    return job_of(self->npu)->wait == JOB_STOPPED || deadline_is_over(&self->deadline);
}

/** Raise the reason why an inference failed that was not stopped, with the operator if known. */
static RARE _Noreturn void raise_fault(const struct ethosu_model *model, int status,
                                       const struct ethosu_ext_fault *fault)
{
    if (status == ETHOSU_MODEL_BAD_VALUE) {
        mp_raise_ValueError(MP_ERROR_TEXT("an operator's index is outside its tensor"));
    }
    if (fault->code == ETHOSU_EXT_E_NOT_STARTED || fault->code == ETHOSU_EXT_E_CANCELLED) {
        binding_raise_cancelled(); // a callback cancelled it
    }
    if (fault->code == ETHOSU_EXT_E_NPU_FAULT || fault->code == ETHOSU_EXT_E_TIMEOUT) {
        char text[160];
        struct ethosu_model_error named;
        ethosu_ext_describe(fault, text, sizeof text);
        if (ethosu_model_name_operator(model, fault->qread, text, &named)) {
            binding_raise_os_error(ethosu_ext_errno(fault->code), "%s", named.text);
        }
    }
    binding_raise_fault(fault);
}

/** Raise the reason why an inference failed. */
static RARE _Noreturn void raise_failed(const model_obj_t *self, int status,
                                        struct ethosu_ext_fault *fault)
{
    binding_raise_pending();
    if (status == ETHOSU_MODEL_STOPPED) { // by model_must_stop()
        if (deadline_is_over(&self->deadline)) {
            binding_raise_os_error(MP_ETIMEDOUT, "the inference took longer than %u ms, on the CPU",
                                   (unsigned)self->deadline.timeout);
        }
        binding_raise_cancelled(); // by a callback
    }
    if (ethosu_ext_errno(fault->code) == ETHOSU_EXT_ETIMEDOUT) {
        fault->found = self->deadline.timeout;
    }
    raise_fault(self->model, status, fault);
}

/** A blocking inference has failed: raise the reason. */
static RARE _Noreturn void end_failed(model_obj_t *self, int status)
{
    struct ethosu_ext_fault fault = *ethosu_ext_last_error(self->npu);
    release_npu(self);
    raise_failed(self, status, &fault);
}

/** Run and wait; raises when the inference failed. */
static void run(model_obj_t *self)
{
    struct ethosu_driver *npu = acquire_npu(self);
    ethosu_ext_set_timeout(npu, self->deadline.timeout);
    if (!self->one_call) {
        self->deadline.start_ms = ethosu_ext_board_ticks_ms();
    }
    job_wait(npu);
    int status = ethosu_model_invoke(self->model, npu);
    job_end_wait(npu);
    if (status != ETHOSU_MODEL_OK) {
        end_failed(self, status);
    }
    release_npu(self);
    binding_raise_pending();
}

/**
 * predict(inputs, callback=None, *, real=None): write inputs, run, and return
 * a list of new arrays, one for each output, or the result of callback(model, inputs,
 * outputs) or of the model's postprocess.
 */
static mp_obj_t model_predict(size_t n_args, const mp_obj_t *pos_args, mp_map_t *kw_args)
{
    enum { ARG_INPUTS, ARG_CALLBACK, ARG_REAL };
    static const mp_arg_t allowed_args[] = {
        {MP_QSTR_inputs, MP_ARG_REQUIRED | MP_ARG_OBJ, {.u_obj = MP_OBJ_NULL}},
        {MP_QSTR_callback, MP_ARG_OBJ, {.u_rom_obj = MP_ROM_NONE}},
        {MP_QSTR_real, MP_ARG_KW_ONLY | MP_ARG_OBJ, {.u_rom_obj = MP_ROM_NONE}},
    };
    mp_arg_val_t args[MP_ARRAY_SIZE(allowed_args)];
    if (n_args == 2 && kw_args->used == 0) { // the usual case, without the parser
        args[ARG_INPUTS].u_obj = pos_args[1];
        args[ARG_CALLBACK].u_obj = args[ARG_REAL].u_obj = mp_const_none;
    } else {
        mp_arg_parse_all(n_args - 1, pos_args + 1, kw_args, MP_ARRAY_SIZE(allowed_args),
                         allowed_args, args);
    }
    mp_obj_t inputs = binding_sequence(args[ARG_INPUTS].u_obj);
    model_obj_t *self = model_idle(pos_args[0]);
    mp_obj_t callback = args[ARG_CALLBACK].u_obj;
    if (callback == mp_const_none) {
        callback = self->postprocess;
    }
    bool real = args[ARG_REAL].u_obj == mp_const_none ? self->real && callback == mp_const_none
                                                      : mp_obj_is_true(args[ARG_REAL].u_obj);
    exchange_write_inputs(self->model, self, inputs);
    mp_obj_t outputs = exchange_new_outputs(self->model, real);
    run(self);
    exchange_fill_outputs(self->model, outputs, real);
    if (callback == mp_const_none) {
        return outputs;
    }
    mp_obj_t call_args[] = {pos_args[0], args[ARG_INPUTS].u_obj, outputs};
    return mp_call_function_n_kw(callback, MP_ARRAY_SIZE(call_args), 0, call_args);
}
BINDING_METHOD(model_predict_obj, model_predict, "predict(inputs, callback=None, *, real=None)");

/** The arguments of run_into(). Iterating them may run Python, so they are read before all checks.
 */
static void get_buffers(size_t n_args, const mp_obj_t *pos_args, mp_map_t *kw_args,
                        mp_obj_t *inputs, mp_obj_t *outputs)
{
    static const mp_arg_t allowed_args[] = {
        {MP_QSTR_inputs, MP_ARG_OBJ, {.u_rom_obj = MP_ROM_NONE}},
        {MP_QSTR_outputs, MP_ARG_OBJ, {.u_rom_obj = MP_ROM_NONE}},
    };
    if (kw_args->used == 0 && n_args <= 1 + MP_ARRAY_SIZE(allowed_args)) {
        *inputs = binding_sequence(pos_args[1]);
        *outputs = n_args > 2 ? binding_sequence(pos_args[2]) : mp_const_none;
        return; // the usual case, without the parser
    }
    mp_arg_val_t args[MP_ARRAY_SIZE(allowed_args)];
    mp_arg_parse_all(n_args - 1, pos_args + 1, kw_args, MP_ARRAY_SIZE(allowed_args), allowed_args,
                     args);
    *inputs = binding_sequence(args[0].u_obj);
    *outputs = binding_sequence(args[1].u_obj);
}

/**
 * run_into(inputs=None, outputs=None): run without allocating. With None, inputs
 * in the arena are used unchanged (`model.inputs[0].data`), and outputs stay there.
 */
static mp_obj_t model_run_into(size_t n_args, const mp_obj_t *args, mp_map_t *kw_args)
{
    if (n_args + kw_args->used == 1) {
        run(model_idle(args[0]));
        return mp_const_none;
    }
    mp_obj_t inputs, outputs;
    get_buffers(n_args, args, kw_args, &inputs, &outputs);
    model_obj_t *self = model_idle(args[0]);
    if (outputs != mp_const_none) {
        exchange_visit_outputs(self->model, outputs, false);
    }
    if (inputs != mp_const_none) {
        exchange_write_inputs(self->model, self, inputs);
    }
    run(self);
    if (outputs != mp_const_none) {
        exchange_visit_outputs(self->model, outputs, true);
    }
    return mp_const_none;
}
BINDING_METHOD(model_run_into_obj, model_run_into, "run_into(inputs=None, outputs=None)");

/* ---- without blocking: the steps of run(), which is in `_ethosu` ---- */

void model_stop(model_obj_t *self)
{
    if (model_is_busy(self)) {
        (void)job_stop(self->npu);
    }
}

/** Has the inference ended? Raises if it failed. */
static RARE mp_obj_t progress(model_obj_t *self, int status)
{
    if (status == ETHOSU_MODEL_PENDING) {
        job_pin(self->npu, MP_OBJ_FROM_PTR(self), &self->deadline);
        if (!ethosu_ext_is_running(self->npu)) {
            job_pin(self->npu, MP_OBJ_NULL, NULL); // its interrupt came first
        }
        return mp_const_false;
    }
    struct ethosu_ext_fault fault = *ethosu_ext_last_error(self->npu);
    model_stop(self);
    if (status != ETHOSU_MODEL_OK) {
        raise_failed(self, status, &fault);
    }
    binding_raise_pending();
    return mp_const_true;
}

/** _start(inputs=None, outputs=None): write inputs and start; True if the inference has already
 * ended. */
static mp_obj_t model_start(size_t n_args, const mp_obj_t *args)
{
    mp_obj_t inputs = n_args > 1 ? binding_sequence(args[1]) : mp_const_none;
    mp_obj_t outputs = n_args > 2 ? binding_sequence(args[2]) : mp_const_none;
    model_obj_t *self = model_idle(args[0]);
    if (outputs != mp_const_none) {
        exchange_visit_outputs(self->model, outputs, false);
    }
    if (inputs != mp_const_none) {
        exchange_write_inputs(self->model, self, inputs);
    }
    acquire_npu(self);
    self->deadline.start_ms = ethosu_ext_board_ticks_ms();
    job_wait(self->npu); // operators of the CPU may come first
    int status = ethosu_model_start(self->model, self->npu);
    job_end_wait(self->npu);
    return progress(self, status);
}
MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(model_start_obj, 1, 3, model_start);

/** _step(): call it when select.poll() reports an event; True when the inference has ended. */
static mp_obj_t model_step(mp_obj_t self_in)
{
    model_obj_t *self = model_open(self_in);
    if (!model_is_busy(self)) {
        binding_raise_cancelled();
    }
    bool running = ethosu_ext_is_running(self->npu);
    uint64_t left = deadline_left(&self->deadline);
    if (running && left > 1) {
        return mp_const_false;
    }
    ethosu_ext_set_timeout(self->npu, left);
    job_wait(self->npu);
    int status = ethosu_model_resume(self->model, running);
    job_end_wait(self->npu);
    return progress(self, status);
}
MP_DEFINE_CONST_FUN_OBJ_1(model_step_obj, model_step);

/** _fetch(outputs=None): a list of new arrays, or None if they were copied to buffers. */
static mp_obj_t model_fetch(size_t n_args, const mp_obj_t *args)
{
    mp_obj_t outputs = n_args > 1 ? binding_sequence(args[1]) : mp_const_none;
    model_obj_t *self = model_idle(args[0]);
    if (outputs != mp_const_none) {
        exchange_visit_outputs(self->model, outputs, true);
        return mp_const_none;
    }
    outputs = exchange_new_outputs(self->model, self->real);
    exchange_fill_outputs(self->model, outputs, self->real);
    return outputs;
}
MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(model_fetch_obj, 1, 2, model_fetch);
