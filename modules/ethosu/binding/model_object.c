// SPDX-License-Identifier: MIT
/** Python class `ethosu.Model`: a compiled model, loaded and ready to predict. */
#include "model_object.h"

#include <string.h>

#include "arm_ethos_io_memcpy.h"
#include "ethosu_board.h"
#include "py/binary.h"
#include "py/mperrno.h"
#include "py/objarray.h"
#include "py/runtime.h"
#include "source.h"

model_obj_t *model_alive(mp_obj_t self_in)
{
    model_obj_t *self = MP_OBJ_TO_PTR(self_in);
    if (self->model == NULL) {
        mp_raise_ValueError(MP_ERROR_TEXT("this model was closed by deinit()"));
    }
    return self;
}

/* ---- loading ---- */

static size_t round_up(size_t value, size_t alignment)
{
    return (value + alignment - 1) & ~(alignment - 1);
}

/**
 * Memory for the arena: the caller's, or taken here once. Its start and end
 * are aligned to the NPU's needs and to cache lines, which it shares with nobody.
 */
static void place_arena(model_obj_t *self, mp_obj_t arena, struct ethosu_model_memory *memory)
{
    size_t alignment = MAX(ETHOSU_MODEL_ALIGNMENT, ethosu_board.cache_line);
    memory->arena_size = round_up(memory->arena_size, alignment);
    mp_buffer_info_t block;
    if (arena != mp_const_none) {
        binding_get_buffer(arena, &block, MP_BUFFER_WRITE, "arena");
    } else {
        block.len = memory->arena_size + alignment - ETHOSU_MODEL_ALIGNMENT;
        block.buf = m_new(uint8_t, block.len);
    }
    uintptr_t start = round_up((uintptr_t)block.buf, alignment);
    size_t needed = memory->arena_size + (start - (uintptr_t)block.buf);
    if (block.len < needed) {
        mp_raise_msg_varg(&mp_type_ValueError,
                          MP_ERROR_TEXT("arena has %d bytes, the model needs %d there"),
                          (int)block.len, (int)needed);
    }
    self->arena_block = block.buf;
    memory->arena = (void *)start;
}

static void load(model_obj_t *self, const struct ethosu_model_source *source, mp_obj_t arena)
{
    struct ethosu_model_memory memory;
    struct ethosu_model_error error;
    int status = ethosu_model_measure(source, &memory, &error);
    if (status != ETHOSU_MODEL_OK) {
        binding_raise_model(status, &error);
    }
    memory.object = m_new(uint8_t, memory.object_size);
    self->object = MP_OBJ_FROM_PTR(memory.object);
    place_arena(self, arena, &memory);
    status = ethosu_model_load(source, &memory, &self->model, &error);
    if (status != ETHOSU_MODEL_OK) {
        self->model = NULL;
        binding_raise_model(status, &error);
    }
}

/** Model(source, *, npu=None, arena=None, verify=True, timeout_ms=10000) */
static mp_obj_t model_make_new(const mp_obj_type_t *type, size_t positional, size_t keywords,
                               const mp_obj_t *arguments)
{
    enum { ARG_SOURCE, ARG_NPU, ARG_ARENA, ARG_VERIFY, ARG_TIMEOUT };
    static const mp_arg_t allowed[] = {
        {MP_QSTR_source, MP_ARG_REQUIRED | MP_ARG_OBJ, {.u_obj = MP_OBJ_NULL}},
        {MP_QSTR_npu, MP_ARG_KW_ONLY | MP_ARG_OBJ, {.u_rom_obj = MP_ROM_NONE}},
        {MP_QSTR_arena, MP_ARG_KW_ONLY | MP_ARG_OBJ, {.u_rom_obj = MP_ROM_NONE}},
        {MP_QSTR_verify, MP_ARG_KW_ONLY | MP_ARG_BOOL, {.u_bool = true}},
        {MP_QSTR_timeout_ms, MP_ARG_KW_ONLY | MP_ARG_INT, {.u_int = BINDING_TIMEOUT_MS}},
    };
    mp_arg_val_t args[MP_ARRAY_SIZE(allowed)];
    mp_arg_parse_all_kw_array(positional, keywords, arguments, MP_ARRAY_SIZE(allowed), allowed,
                              args);
    uint64_t timeout = binding_timeout(args[ARG_TIMEOUT].u_int);
    struct source source;
    source_open(args[ARG_SOURCE].u_obj, &source);

    model_obj_t *self = mp_obj_malloc(model_obj_t, type);
    memset((uint8_t *)self + sizeof self->base, 0, sizeof *self - sizeof self->base);
    self->npu = binding_choose_npu(args[ARG_NPU].u_obj);
    self->timeout = timeout;
    self->source = source.owner;
    self->file_size = (uint32_t)source.size;
    struct ethosu_model_source from = {
        .file = source.data,
        .file_size = source.size,
        .driver = self->npu,
        .skip_verify = !args[ARG_VERIFY].u_bool,
    };
    load(self, &from, args[ARG_ARENA].u_obj);
    return MP_OBJ_FROM_PTR(self);
}

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

/** Bytes of a tensor that the caller gave; raises when size or type are wrong. */
static void *get_bytes(const struct ethosu_model_buffer *buffer, mp_obj_t given, mp_uint_t flags,
                       const char *what, size_t index)
{
    mp_buffer_info_t info;
    binding_get_buffer(given, &info, flags, what);
    int expected = model_typecode(buffer->type);
    const char *type = ethosu_model_type_name(buffer->type);
    // Plain bytes are taken as they are; typed arrays must be of the tensor's type.
    if (info.typecode != BYTEARRAY_TYPECODE && info.typecode != 'B' && info.typecode != expected) {
        mp_raise_msg_varg(&mp_type_TypeError,
                          MP_ERROR_TEXT("%s %d has typecode '%c', '%c' expected (%s)"), what,
                          (int)index, info.typecode, expected, type);
    }
    if (info.len != buffer->size) {
        mp_raise_msg_varg(&mp_type_ValueError,
                          MP_ERROR_TEXT("%s %d has %d bytes, %d expected (%s)"), what, (int)index,
                          (int)info.len, (int)buffer->size, type);
    }
    return info.buf;
}

/** What is done with each tensor of the model and the bytes that the caller gave for it. */
typedef void visit_t(const struct ethosu_model_buffer *buffer, void *bytes);

static void visit_nothing(const struct ethosu_model_buffer *buffer, void *bytes)
{
}

static void copy_in(const struct ethosu_model_buffer *buffer, void *bytes)
{
    if (bytes != buffer->data) {
        arm_ethos_io_memcpy(buffer->data, bytes, buffer->size);
    }
}

static void copy_out(const struct ethosu_model_buffer *buffer, void *bytes)
{
    if (bytes != buffer->data) {
        arm_ethos_io_memcpy(bytes, buffer->data, buffer->size);
    }
}

static void visit_inputs(const model_obj_t *self, mp_obj_t given, visit_t *visit)
{
    size_t count = ethosu_model_input_count(self->model);
    const struct ethosu_model_buffer *inputs = ethosu_model_inputs(self->model);
    mp_obj_t *items = get_sequence(given, count, "input");
    for (size_t i = 0; i < count; ++i) {
        visit(&inputs[i], get_bytes(&inputs[i], items[i], MP_BUFFER_READ, "input", i));
    }
}

static void visit_outputs(const model_obj_t *self, mp_obj_t given, visit_t *visit)
{
    size_t count = ethosu_model_output_count(self->model);
    const struct ethosu_model_buffer *outputs = ethosu_model_outputs(self->model);
    mp_obj_t *items = get_sequence(given, count, "output");
    for (size_t i = 0; i < count; ++i) {
        visit(&outputs[i], get_bytes(&outputs[i], items[i], MP_BUFFER_WRITE, "output", i));
    }
}

/** A new array with the bytes of an output: it stays when the next inference overwrites them. */
static mp_obj_t new_array(const model_obj_t *self, const struct ethosu_model_buffer *buffer)
{
    (void)self;
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

/* ---- running ---- */

/** Reserve the NPU for this model. Nobody may touch the arena from here to give_back(). Raises. */
static void reserve(model_obj_t *self)
{
    if (self->busy) {
        binding_raise_os_error(MP_EBUSY, "an inference of this model is under way");
    }
    binding_reserve_npu(self->npu, 0);
    ethosux_set_timeout(self->npu, self->timeout);
    self->busy = true;
}

/** Run on the reserved NPU and give it back; raises when the inference failed. */
static void run(model_obj_t *self)
{
    int status = ethosu_model_invoke(self->model, self->npu);
    struct ethosux_fault fault = *ethosux_last_error(self->npu);
    ethosu_release_driver(self->npu);
    self->busy = false;
    binding_raise_pending();
    if (status != ETHOSU_MODEL_OK) {
        binding_raise_fault(&fault);
    }
}

/** predict(inputs): copy them in, run, and return a list of new arrays, one for each output. */
static mp_obj_t model_predict(mp_obj_t self_in, mp_obj_t inputs)
{
    model_obj_t *self = model_alive(self_in);
    // All checks first: no half of the inputs is ever copied.
    visit_inputs(self, inputs, visit_nothing);
    reserve(self);
    visit_inputs(self, inputs, copy_in);
    run(self);
    size_t count = ethosu_model_output_count(self->model);
    const struct ethosu_model_buffer *outputs = ethosu_model_outputs(self->model);
    mp_obj_list_t *list = MP_OBJ_TO_PTR(mp_obj_new_list(count, NULL));
    for (size_t i = 0; i < count; ++i) {
        list->items[i] = new_array(self, &outputs[i]);
    }
    return MP_OBJ_FROM_PTR(list);
}
static MP_DEFINE_CONST_FUN_OBJ_2(model_predict_obj, model_predict);

/**
 * run_into(inputs=None, outputs=None): run without allocating. None leaves
 * inputs as they are in the arena (`model.inputs[0].data`), and outputs there.
 */
static mp_obj_t model_run_into(size_t count, const mp_obj_t *arguments)
{
    model_obj_t *self = model_alive(arguments[0]);
    mp_obj_t inputs = count > 1 ? arguments[1] : mp_const_none;
    mp_obj_t outputs = count > 2 ? arguments[2] : mp_const_none;
    if (inputs != mp_const_none) {
        visit_inputs(self, inputs, visit_nothing);
    }
    if (outputs != mp_const_none) {
        visit_outputs(self, outputs, visit_nothing);
    }
    reserve(self);
    if (inputs != mp_const_none) {
        visit_inputs(self, inputs, copy_in);
    }
    run(self);
    if (outputs != mp_const_none) {
        visit_outputs(self, outputs, copy_out);
    }
    return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(model_run_into_obj, 1, 3, model_run_into);

/* ---- the rest of its life ---- */

static model_obj_t *idle(mp_obj_t self_in)
{
    model_obj_t *self = model_alive(self_in);
    if (self->busy) {
        binding_raise_os_error(MP_EBUSY, "an inference of this model is under way");
    }
    return self;
}

/** reset(): variables and state tensors back to their initial values. */
static mp_obj_t model_reset(mp_obj_t self_in)
{
    ethosu_model_reset(idle(self_in)->model);
    return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_1(model_reset_obj, model_reset);

/** deinit(): let go of file and arena. Views of tensors stay valid. Twice does no harm. */
static mp_obj_t model_deinit(mp_obj_t self_in)
{
    model_obj_t *self = MP_OBJ_TO_PTR(self_in);
    if (self->model != NULL) {
        idle(self_in);
        self->model = NULL;
        self->source = MP_OBJ_NULL;
        self->object = MP_OBJ_NULL;
        self->arena_block = NULL;
    }
    return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_1(model_deinit_obj, model_deinit);

static mp_obj_t model_exit(size_t count, const mp_obj_t *arguments)
{
    (void)count;
    return model_deinit(arguments[0]);
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(model_exit_obj, 4, 4, model_exit);

/** info(): config, memory, share of the NPU. */
static mp_obj_t model_info(mp_obj_t self_in)
{
    struct ethosu_model_info info;
    ethosu_model_get_info(model_alive(self_in)->model, &info);
    const struct {
        qstr key;
        uint32_t value;
    } numbers[] = {
        {MP_QSTR_npu_calls, info.npu_calls},     {MP_QSTR_cpu_steps, info.cpu_steps},
        {MP_QSTR_tensors, info.tensors},         {MP_QSTR_arena_size, info.arena_size},
        {MP_QSTR_object_size, info.object_size}, {MP_QSTR_copied_bytes, info.copied_bytes},
    };
    mp_obj_t dict = mp_obj_new_dict(MP_ARRAY_SIZE(numbers) + 1);
    mp_obj_dict_store(dict, MP_OBJ_NEW_QSTR(MP_QSTR_config),
                      mp_obj_new_str(info.npu, strlen(info.npu)));
    for (size_t i = 0; i < MP_ARRAY_SIZE(numbers); ++i) {
        mp_obj_dict_store(dict, MP_OBJ_NEW_QSTR(numbers[i].key),
                          mp_obj_new_int_from_uint(numbers[i].value));
    }
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
    mp_printf(print, "<Model %s: %u inputs, %u outputs, arena %u bytes, %u bytes copied>", info.npu,
              (unsigned)info.inputs, (unsigned)info.outputs, (unsigned)info.arena_size,
              (unsigned)info.copied_bytes);
}

static const mp_rom_map_elem_t model_locals_table[] = {
    {MP_ROM_QSTR(MP_QSTR_predict), MP_ROM_PTR(&model_predict_obj)},
    {MP_ROM_QSTR(MP_QSTR_run_into), MP_ROM_PTR(&model_run_into_obj)},
    {MP_ROM_QSTR(MP_QSTR_reset), MP_ROM_PTR(&model_reset_obj)},
    {MP_ROM_QSTR(MP_QSTR_info), MP_ROM_PTR(&model_info_obj)},
    {MP_ROM_QSTR(MP_QSTR_deinit), MP_ROM_PTR(&model_deinit_obj)},
    {MP_ROM_QSTR(MP_QSTR___enter__), MP_ROM_PTR(&mp_identity_obj)},
    {MP_ROM_QSTR(MP_QSTR___exit__), MP_ROM_PTR(&model_exit_obj)},
};
static MP_DEFINE_CONST_DICT(model_locals, model_locals_table);

static void model_attribute(mp_obj_t self_in, qstr name, mp_obj_t *destination)
{
    if (destination[0] != MP_OBJ_NULL) {
        return; // nothing can be stored
    }
    model_obj_t *self = MP_OBJ_TO_PTR(self_in);
    if (name == MP_QSTR_len) {
        destination[0] = mp_obj_new_int_from_uint(self->file_size);
    } else if (name == MP_QSTR_ram) {
        struct ethosu_model_info info;
        ethosu_model_get_info(model_alive(self_in)->model, &info);
        destination[0] = mp_obj_new_int_from_uint(info.arena_size + info.object_size);
    } else if (mp_map_lookup((mp_map_t *)&model_locals.map, MP_OBJ_NEW_QSTR(name), MP_MAP_LOOKUP) !=
               NULL) {
        destination[1] = MP_OBJ_SENTINEL; // a method: look in locals
    } else {
        model_load_description(model_alive(self_in), name, &destination[0]);
    }
}

// clang-format off
MP_DEFINE_CONST_OBJ_TYPE(
    binding_model_type, MP_QSTR_Model, MP_TYPE_FLAG_NONE,
    make_new, model_make_new,
    print, model_print,
    attr, model_attribute,
    locals_dict, &model_locals
);
// clang-format on
