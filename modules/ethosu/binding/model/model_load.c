// SPDX-License-Identifier: MIT
/** Creates an `ethosu.Model`: file, NPU and arena; see model_object.h. */
#include "binding/model/model_object.h"

#include <string.h>

#include "binding/call/raise.h"
#include "binding/memory/buffers.h"
#include "binding/npu/job.h"
#include "py/builtin.h"
#include "py/runtime.h"

/** Bytes of C stack for loading a model, and for an interrupt meanwhile; a test measures it. */
#define LOADER_STACK 7424

/** Arguments of place(). */
struct placing {
    model_obj_t *self;
    mp_obj_t arena;
};

/** Allocate the memory of a measured model. Raises. */
static void place(struct ethosu_model_memory *memory, void *argument)
{
    const struct placing *placing = argument;
    memory->object = m_new(uint8_t, memory->object_size);
    model_set_arena(placing->self, placing->arena, memory);
}

/**
 * Check the model, and load it.
 *
 * @param any  the caller did not specify an NPU: use the one that the model was compiled for
 */
static void load(model_obj_t *self, struct ethosu_model_source *source, bool any, mp_obj_t arena)
{
    struct placing placing = {self, arena};
    struct ethosu_model_error error;
    struct ethosu_driver *npu = NULL;
    int status;
    do {
        status = ethosu_model_create(source, place, &placing, &self->model, &error);
        npu = any && status == ETHOSU_MODEL_WRONG_NPU ? ethosu_ext_next(npu) : NULL;
        if (npu != NULL) {
            source->driver = self->npu = npu;
        }
    } while (npu != NULL);
    if (status != ETHOSU_MODEL_OK) {
        pin_remove(&self->pins);
        if (status == ETHOSU_MODEL_WRONG_NPU) {
            npus_raise_wrong(error.text);
        }
        binding_raise_model(status, &error);
    }
    if (self->lost) {
        self->model = NULL;
        (void)model_open(MP_OBJ_FROM_PTR(self)); // raises
    }
    self->one_call = ethosu_model_is_one_call(self->model);
}

/** The NPU to run on: a handle from reserve(), or a value for its `npu` argument. Raises. */
static void choose_npu(model_obj_t *self, mp_obj_t npu)
{
    if (mp_obj_is_type(npu, &binding_npu_type)) {
        self->handle = npu_reserved(npu);
        self->npu = self->handle->npu;
    } else {
        self->npu = npus_choose(npu);
    }
}

/** Arguments of Model(). */
struct options {
    const void *file;
    uint32_t file_size;        /**< bytes */
    const struct source *data; /**< or NULL */
    mp_obj_t npu;
    mp_obj_t arena; /**< None, a buffer, or another method's model */
    mp_obj_t postprocess;
    const char *method;
    uint64_t timeout;
    bool file_copied;
    bool file_may_change; /**< or the data */
    bool real;
    bool verify;
};

static mp_obj_t new_model(const mp_obj_type_t *type, const struct options *options)
{
    static const struct source none;
    const struct source *data = options->data == NULL ? &none : options->data;
    model_obj_t *self = mp_obj_malloc_with_finaliser(model_obj_t, type);
    memset((uint8_t *)self + sizeof self->base, 0, sizeof *self - sizeof self->base);
    choose_npu(self, options->npu);
    self->postprocess = options->postprocess;
    self->real = options->real;
    self->verify = options->verify;
    self->block[MODEL_FILE] = pin_block_of(options->file, options->file_size, "model", NULL);
    self->block[MODEL_DATA] = pin_block_of(data->data, data->size, "data", NULL);
    self->data = options->data;
    self->file_size = options->file_size;
    self->file_copied = options->file_copied;
    self->file_may_change = options->file_may_change;
    self->deadline.timeout = MAX(options->timeout, 1); // a wait of 0 only looks
    struct ethosu_model_source from = {
        .file = options->file,
        .file_size = options->file_size,
        .driver = self->npu,
        .skip_verify = !options->verify,
        .method = options->method,
        .data = data->data,
        .data_size = data->size,
        .stop = model_must_stop,
        .argument = self,
        .npu_reads_object = binding_npu_reads_heap(),
        .file_may_change = options->file_may_change && options->verify,
    };
    // Loading runs callbacks, so the memory that it reads and writes is pinned.
    pin_add(&self->pins, self->block, MODEL_BLOCKS, model_invalidate);
    load(self, &from, options->npu == mp_const_none, options->arena);
    return MP_OBJ_FROM_PTR(self);
}

/** The data file next to a model file given as a path, or None. */
static mp_obj_t find_data(mp_obj_t file, const struct source *source)
{
    const char *suffix = ethosu_file_kind_of(source->data, source->size)->data_suffix;
    if (suffix[0] == '\0' || !mp_obj_is_str(file)) {
        return mp_const_none;
    }
    size_t length;
    const char *path = mp_obj_str_get_data(file, &length);
    size_t dot = length;
    while (dot > 0 && path[dot] != '.' && path[dot] != '/') {
        dot--;
    }
    vstr_t name;
    vstr_init(&name, 32);
    vstr_add_strn(&name, path, path[dot] == '.' ? dot : length);
    vstr_add_str(&name, suffix);
    bool exists = mp_import_stat(vstr_null_terminated_str(&name)) == MP_IMPORT_STAT_FILE;
    return exists ? mp_obj_new_str_from_vstr(&name) : mp_const_none;
}

/** Get the bytes of the file, and of its data if there are any. Raises. */
static void open_sources(struct options *options, mp_obj_t file, mp_obj_t data)
{
    struct source source;
    source_open(file, "model", &source);
    data = data == mp_const_none ? find_data(file, &source) : data;
    options->file = source.data;
    options->file_size = (uint32_t)source.size;
    options->file_copied = source.copied;
    options->file_may_change = source.may_change;
    if (data != mp_const_none) {
        struct source *more = m_new(struct source, 1);
        source_open(data, "data", more);
        options->data = more;
        options->file_may_change |= more->may_change;
    }
}

/**
 * Model(source, *, npu=None, arena=None, verify=True, timeout_ms=10000,
 * postprocess=None, real=False, method=None, data=None, signature=None)
 */
mp_obj_t model_make_new(const mp_obj_type_t *type, size_t n_args, size_t n_kw,
                        const mp_obj_t *pos_args)
{
    enum {
        ARG_SOURCE,
        ARG_NPU,
        ARG_ARENA,
        ARG_VERIFY,
        ARG_TIMEOUT,
        ARG_POST,
        ARG_REAL,
        ARG_METHOD,
        ARG_DATA,
        ARG_SIGNATURE
    };
    static const mp_arg_t allowed_args[] = {
        {MP_QSTR_source, MP_ARG_REQUIRED | MP_ARG_OBJ, {.u_obj = MP_OBJ_NULL}},
        {MP_QSTR_npu, MP_ARG_KW_ONLY | MP_ARG_OBJ, {.u_rom_obj = MP_ROM_NONE}},
        {MP_QSTR_arena, MP_ARG_KW_ONLY | MP_ARG_OBJ, {.u_rom_obj = MP_ROM_NONE}},
        {MP_QSTR_verify, MP_ARG_KW_ONLY | MP_ARG_BOOL, {.u_bool = true}},
        {MP_QSTR_timeout_ms, MP_ARG_KW_ONLY | MP_ARG_INT, {.u_int = BINDING_TIMEOUT_MS}},
        {MP_QSTR_postprocess, MP_ARG_KW_ONLY | MP_ARG_OBJ, {.u_rom_obj = MP_ROM_NONE}},
        {MP_QSTR_real, MP_ARG_KW_ONLY | MP_ARG_BOOL, {.u_bool = false}},
        {MP_QSTR_method, MP_ARG_KW_ONLY | MP_ARG_OBJ, {.u_rom_obj = MP_ROM_NONE}},
        {MP_QSTR_data, MP_ARG_KW_ONLY | MP_ARG_OBJ, {.u_rom_obj = MP_ROM_NONE}},
        {MP_QSTR_signature, MP_ARG_KW_ONLY | MP_ARG_OBJ, {.u_rom_obj = MP_ROM_NONE}},
    };
    mp_arg_val_t args[MP_ARRAY_SIZE(allowed_args)];
    mp_arg_parse_all_kw_array(n_args, n_kw, pos_args, MP_ARRAY_SIZE(allowed_args), allowed_args,
                              args);
    mp_obj_t method = args[ARG_METHOD].u_obj;
    mp_obj_t signature = args[ARG_SIGNATURE].u_obj; // the runtime takes either by the same name
    if (method != mp_const_none && signature != mp_const_none) {
        mp_raise_ValueError(MP_ERROR_TEXT("a program has methods, a .tflite has signatures: "
                                          "expected one of method and signature"));
    }
    method = method == mp_const_none ? signature : method;
    struct options options = {
        .npu = args[ARG_NPU].u_obj,
        .arena = args[ARG_ARENA].u_obj,
        .postprocess = args[ARG_POST].u_obj,
        .timeout = binding_timeout(args[ARG_TIMEOUT].u_int),
        .real = args[ARG_REAL].u_bool,
        .verify = args[ARG_VERIFY].u_bool,
        .method = method == mp_const_none ? NULL : mp_obj_str_get_str(method),
    };
    binding_need_stack(LOADER_STACK);
    open_sources(&options, args[ARG_SOURCE].u_obj, args[ARG_DATA].u_obj);
    return new_model(type, &options);
}

mp_obj_t model_new_method(model_obj_t *self, const char *method)
{
    binding_need_stack(LOADER_STACK);
    struct options options = {
        .file = ethosu_model_file(self->model),
        .file_size = self->file_size,
        .file_copied = self->file_copied,
        .file_may_change = self->file_may_change,
        .data = self->data,
        .npu = self->handle == NULL ? mp_const_none : MP_OBJ_FROM_PTR(self->handle),
        .arena = MP_OBJ_FROM_PTR(self),
        .postprocess = self->postprocess,
        .method = method,
        .timeout = self->deadline.timeout,
        .real = self->real,
        .verify = self->verify,
    };
    return new_model(self->base.type, &options);
}
