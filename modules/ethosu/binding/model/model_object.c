// SPDX-License-Identifier: MIT
/** Python class `ethosu.Model`: a compiled model, loaded; see model_object.h. */
#include "binding/model/model_object.h"

#include <string.h>

#include "binding/call/methods.h"
#include "binding/call/raise.h"
#include "binding/npu/job.h"
#include "binding/tensor/info.h"
#include "runtime/load/metadata.h"
#include "py/mperrno.h"
#include "py/objstr.h"
#include "py/runtime.h"
#include "py/stream.h"

/** reset(): variables and state tensors back to their initial values. */
static mp_obj_t model_reset(mp_obj_t self_in)
{
    ethosu_model_reset(model_idle(self_in)->model);
    return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_1(model_reset_obj, model_reset);

/** deinit(): free file and arena. Views of tensors stay valid. A second call does nothing. */
static mp_obj_t model_deinit(mp_obj_t self_in)
{
    model_obj_t *self = MP_OBJ_TO_PTR(self_in);
    if (self->model != NULL) {
        model_finish_abandoned(self);
    }
    pin_remove(&self->pins);
    self->model = NULL;
    memset(self->block, 0, sizeof self->block);
    self->tensors[0] = self->tensors[1] = MP_OBJ_NULL;
    return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_1(model_deinit_obj, model_deinit);

static mp_obj_t model_exit(size_t n_args, const mp_obj_t *args)
{
    (void)n_args;
    return model_deinit(args[0]);
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(model_exit_obj, 4, 4, model_exit);

/** cancel(): stop the current inference, if any; its run() raises OSError(ECANCELED). */
static mp_obj_t model_cancel(mp_obj_t self_in)
{
    model_stop(model_open(self_in));
    return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_1(model_cancel_obj, model_cancel);

/** The collector frees an unreferenced model, possibly during run(). */
static mp_obj_t model_finalise(mp_obj_t self_in)
{
    model_obj_t *self = MP_OBJ_TO_PTR(self_in);
    if (self->model != NULL) {
        model_stop(self);
    }
    pin_remove(&self->pins);
    return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_1(model_finalise_obj, model_finalise);

/** await run(inputs=None, outputs=None): tasks get the NPU in the order of their requests. */
BINDING_FROZEN_METHOD(model_run_obj, MP_QSTR_run_model,
                      "run(inputs=None, outputs=None): to be awaited");

/** selftest(): compare with the golden output that `ethosu compile --selftest` stored. */
BINDING_FROZEN_METHOD(model_selftest_obj, MP_QSTR_selftest, "selftest(rtol=1e-5, atol=1e-8)");

/** Call a function of the frozen Python that describes a model; raises if the model is closed. */
static MP_NOINLINE mp_obj_t read_frozen(qstr name, mp_obj_t model)
{
    mp_map_t none = {0};
    return binding_call_frozen(name, 1, &model, &none);
}

/** metadata(): the TFLite metadata. metadata(name): the bytes of this entry, or None if it does
 * not exist. */
static mp_obj_t model_metadata(size_t n_args, const mp_obj_t *args)
{
    if (n_args == 1) {
        return read_frozen(MP_QSTR_read_metadata, args[0]);
    }
    model_obj_t *self = model_open(args[0]);
    uint32_t size;
    const void *data = ethosu_model_get_metadata(self->model, mp_obj_str_get_str(args[1]), &size);
    return data == NULL ? mp_const_none : mp_obj_new_bytes(data, size);
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(model_metadata_obj, 1, 2, model_metadata);

/** method(name): another method or signature of the same file, as a model. */
static mp_obj_t model_method(mp_obj_t self_in, mp_obj_t name)
{
    return model_new_method(model_open(self_in), mp_obj_str_get_str(name));
}
static MP_DEFINE_CONST_FUN_OBJ_2(model_method_obj, model_method);

/** info(): config, memory, share of the NPU, version of Vela. */
static mp_obj_t model_info(mp_obj_t self_in)
{
    model_obj_t *self = model_open(self_in);
    const struct model_properties more = {self->arena, self->file_size, self->file_copied};
    mp_obj_t dict = info_model(self->model, &more);
    model_add_program(self, dict);
    return dict;
}
static MP_DEFINE_CONST_FUN_OBJ_1(model_info_obj, model_info);

static void model_print(const mp_print_t *print, mp_obj_t self_in, mp_print_kind_t kind)
{
    (void)kind;
    model_obj_t *self = MP_OBJ_TO_PTR(self_in);
    if (self->model == NULL) {
        mp_printf(print, "<Model closed>");
        return;
    }
    struct ethosu_model_info info;
    ethosu_model_get_info(self->model, &info);
    mp_printf(print,
              "<Model %s: inputs %u, outputs %u, steps on the NPU %u, on the CPU %u, "
              "arena %u bytes at 0x%x, weights %s, Vela ",
              info.npu, (unsigned)info.inputs, (unsigned)info.outputs, (unsigned)info.npu_calls,
              (unsigned)info.cpu_steps, (unsigned)info.arena_size, (unsigned)(uintptr_t)self->arena,
              info_weights(&info, self->file_copied));
    mp_obj_print_helper(print, info_vela(self->model), PRINT_STR);
    mp_print_str(print, ">");
}

static mp_uint_t model_ioctl(mp_obj_t self_in, mp_uint_t request, uintptr_t flags, int *error)
{
    model_obj_t *self = MP_OBJ_TO_PTR(self_in);
    return deadline_poll(&self->deadline, model_is_busy(self) ? self->npu : NULL, request, flags,
                         error);
}

static const mp_stream_p_t model_stream = {.ioctl = model_ioctl};

BINDING_DOC(
    model_doc,
    "A compiled model: m = Model(source); ethosu.pyi has every method\n"
    "    y, = m.predict([x], callback=None, real=None)  # x: a buffer of raw values, or floats\n"
    "    m.run_into([x], [y])                           # into existing buffers")

static const mp_rom_map_elem_t model_locals_table[] = {
    {MP_ROM_QSTR(MP_QSTR_predict), MP_ROM_PTR(&model_predict_obj)},
    {MP_ROM_QSTR(MP_QSTR_run_into), MP_ROM_PTR(&model_run_into_obj)},
    {MP_ROM_QSTR(MP_QSTR_run), MP_ROM_PTR(&model_run_obj)},
    {MP_ROM_QSTR(MP_QSTR_cancel), MP_ROM_PTR(&model_cancel_obj)},
    {MP_ROM_QSTR(MP_QSTR_selftest), MP_ROM_PTR(&model_selftest_obj)},
    {MP_ROM_QSTR(MP_QSTR_metadata), MP_ROM_PTR(&model_metadata_obj)},
    {MP_ROM_QSTR(MP_QSTR_method), MP_ROM_PTR(&model_method_obj)},
    {MP_ROM_QSTR(MP_QSTR___del__), MP_ROM_PTR(&model_finalise_obj)},
    {MP_ROM_QSTR(MP_QSTR_reset), MP_ROM_PTR(&model_reset_obj)},
    {MP_ROM_QSTR(MP_QSTR_info), MP_ROM_PTR(&model_info_obj)},
    {MP_ROM_QSTR(MP_QSTR_deinit), MP_ROM_PTR(&model_deinit_obj)},
    {MP_ROM_QSTR(MP_QSTR___enter__), MP_ROM_PTR(&mp_identity_obj)},
    {MP_ROM_QSTR(MP_QSTR___exit__), MP_ROM_PTR(&model_exit_obj)},
    BINDING_DOC_ENTRY(model_doc)};
static MP_DEFINE_CONST_DICT(model_locals, model_locals_table);

/** For the frozen Python only, so not in the dict that help() and Tab list. */
static const mp_rom_map_elem_t model_steps_table[] = {
#if ETHOSU_PTE
    {MP_ROM_QSTR(MP_QSTR__case), MP_ROM_PTR(&model_case_obj)},
#endif
    {MP_ROM_QSTR(MP_QSTR__start), MP_ROM_PTR(&model_start_obj)},
    {MP_ROM_QSTR(MP_QSTR__step), MP_ROM_PTR(&model_step_obj)},
    {MP_ROM_QSTR(MP_QSTR__fetch), MP_ROM_PTR(&model_fetch_obj)},
};
static MP_DEFINE_CONST_DICT(model_steps, model_steps_table);

/** A step, or what describes the model. */
static MP_NOINLINE void find_step(mp_obj_t self_in, qstr name, mp_obj_t *destination)
{
    const mp_map_elem_t *step =
        mp_map_lookup((mp_map_t *)&model_steps.map, MP_OBJ_NEW_QSTR(name), MP_MAP_LOOKUP);
    destination[0] = step != NULL ? step->value : model_describe(model_open(self_in), name);
    destination[1] = step != NULL ? self_in : MP_OBJ_NULL;
}

static void model_attribute(mp_obj_t self_in, qstr name, mp_obj_t *destination)
{
    model_obj_t *self = MP_OBJ_TO_PTR(self_in);
    if (destination[0] != MP_OBJ_NULL) {
        if (name == MP_QSTR_postprocess && destination[1] != MP_OBJ_NULL) {
            self->postprocess = destination[1];
            destination[0] = MP_OBJ_NULL; // stored
        }
        return;
    }
    const mp_map_elem_t *method =
        mp_map_lookup((mp_map_t *)&model_locals.map, MP_OBJ_NEW_QSTR(name), MP_MAP_LOOKUP);
    if (method != NULL) { // all entries but the text for help() are methods
        destination[0] = method->value;
        destination[1] = name == MP_QSTR___doc__ ? MP_OBJ_NULL : self_in;
    } else if (name == MP_QSTR_len) {
        destination[0] = mp_obj_new_int_from_uint(self->file_size);
    } else if (name == MP_QSTR_postprocess) {
        destination[0] = self->postprocess;
    } else if (name == MP_QSTR_labels) {
        destination[0] = read_frozen(MP_QSTR_read_labels, self_in);
    } else if (name == MP_QSTR_npu) {
        destination[0] = MP_OBJ_NEW_SMALL_INT(npus_index(self->npu));
    } else if (name == MP_QSTR_ram) {
        struct ethosu_model_info info;
        ethosu_model_get_info(model_open(self_in)->model, &info);
        destination[0] = mp_obj_new_int_from_uint(info.arena_size + info.object_size);
    } else {
        find_step(self_in, name, destination);
    }
}

// clang-format off
MP_DEFINE_CONST_OBJ_TYPE(
    binding_model_type, MP_QSTR_Model, MP_TYPE_FLAG_NONE,
    make_new, model_make_new,
    print, model_print,
    protocol, &model_stream,
    attr, model_attribute,
    locals_dict, &model_locals
);
// clang-format on
