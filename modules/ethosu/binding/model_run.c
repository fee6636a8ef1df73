// SPDX-License-Identifier: MIT
/** Inferences of an `ethosu.Model`: tensors in, run, tensors out. */
#include "model_object.h"

#include "arm_ethos_io_memcpy.h"
#include "ethosu_board.h"
#include "numbers.h"
#include "py/binary.h"
#include "py/mperrno.h"
#include "py/objarray.h"
#include "py/runtime.h"

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

/** A tensor, and what the caller gave for it. */
struct exchange {
    const struct ethosu_model_buffer *tensor;
    mp_obj_t given;
    void *raw; /**< its bytes; NULL: real numbers, or a callable, to be asked for them */
};

/** Check the size and type of raw bytes; raises. */
static void check_raw(const struct ethosu_model_buffer *tensor, const mp_buffer_info_t *given,
                      const char *what, size_t index)
{
    int expected = model_typecode(tensor->type);
    const char *type = ethosu_model_type_name(tensor->type);
    // Plain bytes are taken as they are; typed arrays must be of the tensor's type.
    if (given->typecode != BYTEARRAY_TYPECODE && given->typecode != 'B' &&
        given->typecode != expected) {
        mp_raise_msg_varg(&mp_type_TypeError,
                          MP_ERROR_TEXT("%s %d has typecode '%c', '%c' expected (%s)"), what,
                          (int)index, given->typecode, expected, type);
    }
    if (given->len != tensor->size) {
        mp_raise_msg_varg(&mp_type_ValueError,
                          MP_ERROR_TEXT("%s %d has %d bytes, %d expected (%s)"), what, (int)index,
                          (int)given->len, (int)tensor->size, type);
    }
}

/** Are these real numbers, for a tensor that holds quantised ones? The type says so. */
static bool is_real(const struct ethosu_model_buffer *tensor, int typecode)
{
    return (typecode == 'f' || typecode == 'd') && model_typecode(tensor->type) != typecode;
}

/** Look at one input that was given; raises when it can't be taken. */
static void look_at_input(struct exchange *input, size_t index)
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
        binding_get_buffer(input->given, &buffer, MP_BUFFER_READ, "input");
    }
    // Real numbers: their count is checked now, so that no half of the inputs is ever written.
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
    mp_obj_t arguments[] = {
        model_view(self, input->tensor->data, input->tensor->size, tensor.type),
        tensor_shape(&tensor),
        tensor_dtype(tensor.type),
    };
    mp_call_function_n_kw(input->given, MP_ARRAY_SIZE(arguments), 0, arguments);
    model_idle(MP_OBJ_FROM_PTR(self)); // it may have closed the model, or left it at work
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
        look_at_input(&input, 0);
        write_input(self, &input);
        return;
    }
    const struct ethosu_model_buffer *tensors = input.tensor;
    for (size_t pass = 0; pass < 2; ++pass) {
        for (size_t i = 0; i < count; ++i) {
            input.tensor = &tensors[i];
            input.given = get_sequence(given, count, "input")[i]; // a callable may change the list
            look_at_input(&input, i);
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

/** Check the buffers for the outputs, or copy to them. Raises. */
static void visit_outputs(const model_obj_t *self, mp_obj_t given, bool copy)
{
    size_t count = ethosu_model_output_count(self->model);
    const struct ethosu_model_buffer *outputs = ethosu_model_outputs(self->model);
    mp_obj_t *items = get_sequence(given, count, "output");
    for (size_t i = 0; i < count; ++i) {
        void *bytes = output_bytes(&outputs[i], items[i], i);
        if (copy && bytes != outputs[i].data) {
            arm_ethos_io_memcpy(bytes, outputs[i].data, outputs[i].size);
        }
    }
}

/** A new array with the bytes of an output: it stays when the next inference overwrites them. */
static mp_obj_t new_array(const struct ethosu_model_buffer *buffer)
{
    mp_obj_array_t *array = m_new_obj(mp_obj_array_t);
    size_t width = MAX(ethosu_model_type_size(buffer->type), 1);
    array->base.type = &mp_type_array;
    array->typecode = (size_t)model_typecode(buffer->type);
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
    for (size_t i = 0; i < count; ++i) {
        list->items[i] = real ? tensor_dequantize(self, outputs[i].tensor, outputs[i].data)
                              : new_array(&outputs[i]);
    }
    return MP_OBJ_FROM_PTR(list);
}

/* ---- running ---- */

/** Make the NPU the model's. Raises. */
static void take_npu(model_obj_t *self)
{
    binding_check_idle(self->npu);
    if (self->handle != NULL) {
        npu_reserved(MP_OBJ_FROM_PTR(self->handle));
    } else {
        binding_reserve_npu(self->npu, 0);
    }
    binding_work(self->npu)->model = self;
    self->busy = true;
}

static void give_npu_back(model_obj_t *self)
{
    self->busy = false;
    binding_work(self->npu)->model = NULL;
    if (self->handle == NULL) {
        ethosu_release_driver(self->npu);
    }
}

/** Run and wait; raises when the inference failed. */
static void run(model_obj_t *self)
{
    take_npu(self);
    struct binding_work *work = binding_work(self->npu);
    ethosu_ext_set_timeout(self->npu, self->deadline.timeout);
    work->awaited = true;
    int status = ethosu_model_invoke(self->model, self->npu);
    work->awaited = false;
    if (status != ETHOSU_MODEL_OK) {
        struct ethosu_ext_fault fault = *ethosu_ext_last_error(self->npu);
        give_npu_back(self);
        binding_raise_pending();
        binding_raise_inference(self->model, status, &fault);
    }
    give_npu_back(self);
    binding_raise_pending();
}

/**
 * predict(inputs, callback=None, *, real=None): write inputs, run, and return
 * a list of new arrays, one for each output; or what callback(model, inputs,
 * outputs), else the model's postprocess, makes of them.
 */
static mp_obj_t model_predict(size_t count, const mp_obj_t *positional, mp_map_t *keywords)
{
    enum { ARG_INPUTS, ARG_CALLBACK, ARG_REAL };
    static const mp_arg_t allowed[] = {
        {MP_QSTR_inputs, MP_ARG_REQUIRED | MP_ARG_OBJ, {.u_obj = MP_OBJ_NULL}},
        {MP_QSTR_callback, MP_ARG_OBJ, {.u_rom_obj = MP_ROM_NONE}},
        {MP_QSTR_real, MP_ARG_KW_ONLY | MP_ARG_OBJ, {.u_rom_obj = MP_ROM_NONE}},
    };
    mp_arg_val_t args[MP_ARRAY_SIZE(allowed)];
    mp_arg_parse_all(count - 1, positional + 1, keywords, MP_ARRAY_SIZE(allowed), allowed, args);
    mp_obj_t inputs = binding_sequence(args[ARG_INPUTS].u_obj);
    model_obj_t *self = model_idle(positional[0]);
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
    mp_obj_t arguments[] = {positional[0], args[ARG_INPUTS].u_obj, outputs};
    return mp_call_function_n_kw(callback, MP_ARRAY_SIZE(arguments), 0, arguments);
}
MP_DEFINE_CONST_FUN_OBJ_KW(model_predict_obj, 1, model_predict);

/** The arguments of run_into(). Iterating them may run Python: before anything is looked at. */
static void get_buffers(size_t count, const mp_obj_t *arguments, mp_map_t *keywords,
                        mp_obj_t *inputs, mp_obj_t *outputs)
{
    static const mp_arg_t allowed[] = {
        {MP_QSTR_inputs, MP_ARG_OBJ, {.u_rom_obj = MP_ROM_NONE}},
        {MP_QSTR_outputs, MP_ARG_OBJ, {.u_rom_obj = MP_ROM_NONE}},
    };
    if (keywords->used == 0 && count <= 1 + MP_ARRAY_SIZE(allowed)) {
        *inputs = binding_sequence(arguments[1]);
        *outputs = count > 2 ? binding_sequence(arguments[2]) : mp_const_none;
        return; // the usual case, which need not be parsed
    }
    mp_arg_val_t args[MP_ARRAY_SIZE(allowed)];
    mp_arg_parse_all(count - 1, arguments + 1, keywords, MP_ARRAY_SIZE(allowed), allowed, args);
    *inputs = binding_sequence(args[0].u_obj);
    *outputs = binding_sequence(args[1].u_obj);
}

/**
 * run_into(inputs=None, outputs=None): run without allocating. None leaves
 * inputs as they are in the arena (`model.inputs[0].data`), and outputs there.
 */
static mp_obj_t model_run_into(size_t count, const mp_obj_t *arguments, mp_map_t *keywords)
{
    mp_obj_t inputs = mp_const_none;
    mp_obj_t outputs = mp_const_none;
    if (count + keywords->used > 1) {
        get_buffers(count, arguments, keywords, &inputs, &outputs);
    }
    model_obj_t *self = model_idle(arguments[0]);
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
MP_DEFINE_CONST_FUN_OBJ_KW(model_run_into_obj, 1, model_run_into);

/* ---- without blocking: what run() of the module `_ethosu` is made of ---- */

void model_stop(model_obj_t *self)
{
    struct binding_work *work = binding_work(self->npu);
    if (!self->busy) {
        return;
    }
    if (work->awaited) {
        (void)binding_stop(self->npu); // run() clears up, when this callback has returned
        return;
    }
    work->model = NULL;
    (void)binding_stop(self->npu);
    ethosu_model_abandon(self->model);
    binding_keep(self->npu, MP_OBJ_NULL);
    give_npu_back(self);
}

/** Answer whether the inference has ended; raises when it failed. */
static mp_obj_t progress(model_obj_t *self, int status)
{
    if (status == ETHOSU_MODEL_PENDING) {
        binding_keep(self->npu, MP_OBJ_FROM_PTR(self));
        if (!binding_running(self->npu)) {
            binding_keep(self->npu, MP_OBJ_NULL); // its interrupt was faster
        }
        return mp_const_false;
    }
    struct ethosu_ext_fault fault = *ethosu_ext_last_error(self->npu);
    model_stop(self);
    binding_raise_pending();
    if (status != ETHOSU_MODEL_OK) {
        if (ethosu_ext_errno(fault.code) == ETHOSU_EXT_ETIMEDOUT) {
            fault.found = self->deadline.timeout;
        }
        binding_raise_inference(self->model, status, &fault);
    }
    return mp_const_true;
}

/** _start(inputs=None, outputs=None): write inputs and begin; True when nothing is left to do. */
static mp_obj_t model_start(size_t count, const mp_obj_t *arguments)
{
    mp_obj_t inputs = count > 1 ? binding_sequence(arguments[1]) : mp_const_none;
    mp_obj_t outputs = count > 2 ? binding_sequence(arguments[2]) : mp_const_none;
    model_obj_t *self = model_idle(arguments[0]);
    if (outputs != mp_const_none) {
        visit_outputs(self, outputs, false);
    }
    if (inputs != mp_const_none) {
        write_inputs(self, inputs);
    }
    take_npu(self);
    self->deadline.begun = ethosu_board_ticks_ms();
    return progress(self, ethosu_model_start(self->model, self->npu));
}
MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(model_start_obj, 1, 3, model_start);

/** _step(): go on when select.poll() says so; True when the inference has ended. */
static mp_obj_t model_step(mp_obj_t self_in)
{
    model_obj_t *self = model_alive(self_in);
    if (!self->busy) {
        binding_raise_cancelled();
    }
    bool running = binding_running(self->npu);
    uint64_t left = binding_time_left(&self->deadline);
    if (running && left > 1) {
        return mp_const_false;
    }
    ethosu_ext_set_timeout(self->npu, left);
    return progress(self, ethosu_model_resume(self->model, running));
}
MP_DEFINE_CONST_FUN_OBJ_1(model_step_obj, model_step);

/** _fetch(outputs=None): a list of new arrays, or None when they were copied to buffers. */
static mp_obj_t model_fetch(size_t count, const mp_obj_t *arguments)
{
    mp_obj_t outputs = count > 1 ? binding_sequence(arguments[1]) : mp_const_none;
    model_obj_t *self = model_idle(arguments[0]);
    if (outputs != mp_const_none) {
        visit_outputs(self, outputs, true);
        return mp_const_none;
    }
    return new_outputs(self, self->real);
}
MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(model_fetch_obj, 1, 2, model_fetch);
