// SPDX-License-Identifier: MIT
/** Inferences of an `ethosu.Model`: inputs written, run, outputs read; see model_object.h. */
#include "model_object.h"

#include "arm_ethos_io_memcpy.h"
#include "ethosu_board.h"
#include "job.h"
#include "py/binary.h"
#include "py/mperrno.h"
#include "py/objarray.h"
#include "py/runtime.h"
#include "raise.h"
#include "values.h"

/* ---- tensors in and out ---- */

/** The sequence of buffers given for inputs or outputs: as many as the model has. Raises. */
static mp_obj_t *get_sequence(mp_obj_t given, size_t expected, const char *what)
{
    size_t count;
    mp_obj_t *items;
    mp_obj_get_array(given, &count, &items);
    if (count != expected) {
        mp_raise_msg_varg(&mp_type_ValueError, MP_ERROR_TEXT("%d %ss given, the model has %d"),
                          (int)count, what, (int)expected);
    }
    return items;
}

/** A tensor, and the caller's argument for it. */
struct exchange {
    const struct ethosu_model_buffer *tensor;
    mp_obj_t given;
    void *raw; /**< its bytes; NULL: real numbers, or a callable that writes them */
};

/** Check the size and type of raw values; raises. */
static void check_raw(const struct ethosu_model_buffer *tensor, const mp_buffer_info_t *given,
                      const char *what, size_t index)
{
    if (!tensor_takes(tensor->type, given->typecode)) {
        mp_raise_msg_varg(&mp_type_TypeError,
                          MP_ERROR_TEXT("%s %d has typecode '%c', '%c' expected (%s), "
                                        "or a bytearray of raw bytes"),
                          what, (int)index, given->typecode, values_typecode(tensor->type),
                          ethosu_model_type_name(tensor->type));
    }
    if (given->len != tensor->size) {
        mp_raise_msg_varg(&mp_type_ValueError,
                          MP_ERROR_TEXT("%s %d has %d bytes, %d expected (%s)"), what, (int)index,
                          (int)given->len, (int)tensor->size, ethosu_model_type_name(tensor->type));
    }
}

/** Are these real numbers, for a tensor that holds quantised ones? The typecode decides. */
static bool is_real(const struct ethosu_model_buffer *tensor, int typecode)
{
    return (typecode == 'f' || typecode == 'd') && values_typecode(tensor->type) != typecode;
}

/** Check one input, and find its bytes; raises when it does not fit the tensor. */
static void check_input(struct exchange *input, size_t index)
{
    mp_buffer_info_t buffer;
    struct numbers numbers;
    input->raw = NULL;
    if (mp_get_buffer(input->given, &buffer, MP_BUFFER_READ)) {
        if (!is_real(input->tensor, buffer.typecode)) {
            check_raw(input->tensor, &buffer, "input", index);
            input->raw = buffer.buf;
            return;
        }
    } else if (mp_obj_is_callable(input->given)) {
        return;
    } else if (!numbers_of(input->given, &numbers)) {
        mp_raise_msg_varg(&mp_type_TypeError,
                          MP_ERROR_TEXT("input %d is of type %s, a buffer, numbers or a callable "
                                        "expected"),
                          (int)index, mp_obj_get_type_str(input->given));
    }
    // Real numbers: their count is checked before any input is written.
    size_t expected = input->tensor->size / MAX(ethosu_model_type_size(input->tensor->type), 1);
    if (numbers_of(input->given, &numbers) && numbers.count != expected) {
        mp_raise_msg_varg(&mp_type_ValueError, MP_ERROR_TEXT("input %d has %d values, %d expected"),
                          (int)index, (int)numbers.count, (int)expected);
    }
}

/** Have a callable write an input: callable(memory, shape, dtype). */
static void call_input(model_obj_t *self, const struct exchange *input)
{
    struct ethosu_model_tensor tensor;
    tensor_get(self, input->tensor->tensor, &tensor);
    mp_obj_t call_args[] = {
        tensor_view(self, input->tensor->data, input->tensor->size, tensor.type),
        info_shape(&tensor),
        tensor_dtype(tensor.type),
    };
    mp_call_function_n_kw(input->given, MP_ARRAY_SIZE(call_args), 0, call_args);
    model_idle(MP_OBJ_FROM_PTR(self)); // it may have closed the model, or started it
}

static void write_input(model_obj_t *self, const struct exchange *input)
{
    void *memory = input->tensor->data;
    if (input->raw == memory) {
        return; // in place already
    }
    if (input->raw != NULL) {
        arm_ethos_io_memcpy(memory, input->raw, input->tensor->size);
    } else if (mp_obj_is_callable(input->given)) {
        call_input(self, input);
    } else {
        tensor_quantize(self, input->tensor->tensor, input->given, memory, "input");
    }
}

/** Check all inputs, then write them. Raises. */
static void write_inputs(model_obj_t *self, mp_obj_t given)
{
    size_t count = ethosu_model_input_count(self->model);
    mp_obj_t *items = get_sequence(given, count, "input");
    struct exchange input = {.tensor = ethosu_model_inputs(self->model)};
    if (count == 1) {
        input.given = items[0];
        check_input(&input, 0);
        write_input(self, &input);
        return;
    }
    const struct ethosu_model_buffer *tensors = input.tensor;
    for (size_t pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < count; i++) {
            input.tensor = &tensors[i];
            input.given = get_sequence(given, count, "input")[i]; // a callable may change the list
            check_input(&input, i);
            if (pass == 1) {
                write_input(self, &input);
            }
        }
    }
}

static void *output_bytes(const struct ethosu_model_buffer *tensor, mp_obj_t given, size_t index)
{
    mp_buffer_info_t buffer;
    binding_get_buffer(given, &buffer, MP_BUFFER_WRITE, "output");
    check_raw(tensor, &buffer, "output", index);
    return buffer.buf;
}

/** Check the caller's buffers for the outputs, or copy the outputs there. Raises. */
static void visit_outputs(const model_obj_t *self, mp_obj_t given, bool copy)
{
    size_t count = ethosu_model_output_count(self->model);
    const struct ethosu_model_buffer *outputs = ethosu_model_outputs(self->model);
    mp_obj_t *items = get_sequence(given, count, "output");
    for (size_t i = 0; i < count; i++) {
        void *bytes = output_bytes(&outputs[i], items[i], i);
        if (copy && bytes != outputs[i].data) {
            arm_ethos_io_memcpy(bytes, outputs[i].data, outputs[i].size);
        }
    }
}

/** A new array with a copy of an output, which the next inference overwrites. */
static mp_obj_t new_array(const struct ethosu_model_buffer *buffer)
{
    mp_obj_array_t *array = m_new_obj(mp_obj_array_t);
    size_t width = MAX(ethosu_model_type_size(buffer->type), 1);
    array->base.type = &mp_type_array;
    array->typecode = (size_t)values_typecode(buffer->type);
    array->free = 0;
    array->len = buffer->size / width;
    array->items = m_new(uint8_t, buffer->size);
    arm_ethos_io_memcpy(array->items, buffer->data, buffer->size);
    return MP_OBJ_FROM_PTR(array);
}

/** A list of new arrays, raw or real. */
static mp_obj_t new_outputs(const model_obj_t *self, bool real)
{
    size_t count = ethosu_model_output_count(self->model);
    const struct ethosu_model_buffer *outputs = ethosu_model_outputs(self->model);
    mp_obj_list_t *list = MP_OBJ_TO_PTR(mp_obj_new_list(count, NULL));
    for (size_t i = 0; i < count; i++) {
        list->items[i] = real ? tensor_dequantize(self, outputs[i].tensor, outputs[i].data)
                              : new_array(&outputs[i]);
    }
    return MP_OBJ_FROM_PTR(list);
}

/* ---- running ---- */

/** The inference has ended, or was stopped: the NPU is free for others. */
static void release_npu(void *model)
{
    model_obj_t *self = model;
    job_end(self->npu);
    if (self->handle == NULL) {
        ethosu_release_driver(self->npu);
    }
}

/** job_stop() has stopped the NPU in the middle of an inference. */
static void on_stop(void *model)
{
    ethosu_model_forget(((model_obj_t *)model)->model);
    release_npu(model);
}

/** Reserve the NPU, if it is not, and begin a job on it. Raises. */
static void acquire_npu(model_obj_t *self)
{
    job_check_idle(self->npu);
    if (self->handle != NULL) {
        job_reap_late(npu_reserved(MP_OBJ_FROM_PTR(self->handle))->npu);
    } else {
        npus_reserve(self->npu, 0);
    }
    job_begin(self->npu, self, on_stop);
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
    // One time-out is for all of an inference: the NPU gets what is left of it.
    ethosu_ext_set_timeout(self->npu, deadline_left(&self->deadline));
    return job_of(self->npu)->wait == JOB_STOPPED || deadline_is_over(&self->deadline);
}

/** Raise the reason why an inference failed. */
static _Noreturn void raise_failed(const model_obj_t *self, int status,
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
    binding_raise_inference(self->model, status, fault);
}

/** A blocking inference has failed: raise the reason. */
static MP_NOINLINE _Noreturn void end_failed(model_obj_t *self, int status)
{
    struct ethosu_ext_fault fault = *ethosu_ext_last_error(self->npu);
    release_npu(self);
    raise_failed(self, status, &fault);
}

/** Run and wait; raises when the inference failed. */
static void run(model_obj_t *self)
{
    acquire_npu(self);
    ethosu_ext_set_timeout(self->npu, self->deadline.timeout);
    if (!self->one_call) {
        self->deadline.begun = ethosu_ext_board_ticks_ms();
    }
    job_wait(self->npu);
    int status = ethosu_model_invoke(self->model, self->npu);
    job_waited(self->npu);
    if (status != ETHOSU_MODEL_OK) {
        end_failed(self, status);
    }
    release_npu(self);
    binding_raise_pending();
}

/**
 * predict(inputs, callback=None, *, real=None): write inputs, run, and return
 * a list of new arrays, one for each output; or the value of callback(model, inputs,
 * outputs), or of the model's postprocess.
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
    mp_arg_parse_all(n_args - 1, pos_args + 1, kw_args, MP_ARRAY_SIZE(allowed_args), allowed_args,
                     args);
    mp_obj_t inputs = binding_sequence(args[ARG_INPUTS].u_obj);
    model_obj_t *self = model_idle(pos_args[0]);
    mp_obj_t callback = args[ARG_CALLBACK].u_obj;
    if (callback == mp_const_none) {
        callback = self->postprocess;
    }
    mp_obj_t real = args[ARG_REAL].u_obj;
    write_inputs(self, inputs);
    run(self);
    mp_obj_t outputs =
        new_outputs(self, real == mp_const_none ? self->real && callback == mp_const_none
                                                : mp_obj_is_true(real));
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
 * run_into(inputs=None, outputs=None): run without allocating. None leaves
 * inputs as they are in the arena (`model.inputs[0].data`), and outputs there.
 */
static mp_obj_t model_run_into(size_t n_args, const mp_obj_t *args, mp_map_t *kw_args)
{
    mp_obj_t inputs = mp_const_none;
    mp_obj_t outputs = mp_const_none;
    if (n_args + kw_args->used > 1) {
        get_buffers(n_args, args, kw_args, &inputs, &outputs);
    }
    model_obj_t *self = model_idle(args[0]);
    if (outputs != mp_const_none) {
        visit_outputs(self, outputs, false);
    }
    if (inputs != mp_const_none) {
        write_inputs(self, inputs);
    }
    run(self);
    if (outputs != mp_const_none) {
        visit_outputs(self, outputs, true);
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

/** Has the inference ended? Raises when it failed. */
static mp_obj_t progress(model_obj_t *self, int status)
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

/** _start(inputs=None, outputs=None): write inputs and start; True when the inference has ended
 * already. */
static mp_obj_t model_start(size_t n_args, const mp_obj_t *args)
{
    mp_obj_t inputs = n_args > 1 ? binding_sequence(args[1]) : mp_const_none;
    mp_obj_t outputs = n_args > 2 ? binding_sequence(args[2]) : mp_const_none;
    model_obj_t *self = model_idle(args[0]);
    if (outputs != mp_const_none) {
        visit_outputs(self, outputs, false);
    }
    if (inputs != mp_const_none) {
        write_inputs(self, inputs);
    }
    acquire_npu(self);
    self->deadline.begun = ethosu_ext_board_ticks_ms();
    job_wait(self->npu); // operators of the CPU may come first
    int status = ethosu_model_start(self->model, self->npu);
    job_waited(self->npu);
    return progress(self, status);
}
MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(model_start_obj, 1, 3, model_start);

/** _step(): to be called when select.poll() says so; True when the inference has ended. */
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
    job_waited(self->npu);
    return progress(self, status);
}
MP_DEFINE_CONST_FUN_OBJ_1(model_step_obj, model_step);

/** _fetch(outputs=None): a list of new arrays, or None when they were copied to buffers. */
static mp_obj_t model_fetch(size_t n_args, const mp_obj_t *args)
{
    mp_obj_t outputs = n_args > 1 ? binding_sequence(args[1]) : mp_const_none;
    model_obj_t *self = model_idle(args[0]);
    if (outputs != mp_const_none) {
        visit_outputs(self, outputs, true);
        return mp_const_none;
    }
    return new_outputs(self, self->real);
}
MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(model_fetch_obj, 1, 2, model_fetch);
