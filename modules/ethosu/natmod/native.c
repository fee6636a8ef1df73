// SPDX-License-Identifier: MIT
/**
 * The functions of the native module. None of them blocks; ethosu.py wraps them
 * in classes, keeps memory alive, and waits.
 */
#include "py/dynruntime.h"
#include "py/objarray.h"

#include <string.h>

#include "binding/model/exchange.h"
#include "binding/tensor/info.h"
#include "binding/tensor/tensor_fill.h"
#include "ethosu_ext.h"
#include "ethosu_memory.h"
#include "ethosu_model.h"
#include "ethosu_version.h"
#include "hooks.h"
#include "runtime/load/metadata.h"
#include "native_arguments.h"
#include "native_job.h"

/* ---- models ---- */

/** C stack needed for loading, in steps of 512 bytes, from gcc -fstack-usage of its functions. */
#define LOADER_STACK 12u

/** Raise RuntimeError if the stack has no room for that many steps; a Python call checks this. */
static __attribute__((noinline)) void check_stack(unsigned steps)
{
    volatile uint8_t room[512];
    room[0] = 0;
    (void)mp_call_function_n_kw(mp_load_global(MP_QSTR__check_stack), 0, 0, NULL);
    if (steps > 0) {
        check_stack(steps - 1);
    }
    (void)room[0]; // used after the call, so that it is still allocated during the call
}

/**
 * Can the NPU read the heap, which holds a native module's variables? If so, command streams that
 * need a copy are copied to the object, not to the arena, which other models may share.
 */
static bool npu_reads_heap(void)
{
    return ethosu_ext_memory_reaches(native_jobs, 1, ETHOSU_NPU_READS);
}

/** `choice`: whether to verify; a signature's name that ends with a NUL, or None. */
static struct ethosu_model_source source_of(mp_obj_t index, mp_obj_t file_in, mp_obj_t choice)
{
    mp_buffer_info_t file;
    if (!mp_get_buffer(file_in, &file, MP_BUFFER_READ)) {
        binding_raise_type(file_in, "model", "a path or a buffer");
    }
    file = native_buffer_of(file_in, MP_BUFFER_READ, "model");
    mp_buffer_info_t name = {.buf = NULL};
    size_t count;
    mp_obj_t *items;
    mp_obj_get_array(choice, &count, &items);
    if (items[1] != mp_const_none) {
        name = native_buffer_of(items[1], MP_BUFFER_READ, "signature");
    }
    return (struct ethosu_model_source){
        .file = file.buf,
        .file_size = file.len,
        .driver = native_npu_of(index),
        .skip_verify = !mp_obj_is_true(items[0]),
        .method = name.buf,
        .npu_reads_object = npu_reads_heap(),
    };
}

/** _measure(index, file, choice): bytes of object and arena */
static mp_obj_t model_measure(mp_obj_t index, mp_obj_t file, mp_obj_t choice)
{
    struct ethosu_model_source source = source_of(index, file, choice);
    struct ethosu_model_memory memory;
    struct ethosu_model_error error;
    check_stack(LOADER_STACK);
    native_check_model(ethosu_model_measure(&source, &memory, &error), &error);
    mp_obj_t sizes[] = {
        mp_obj_new_int_from_uint(memory.object_size + 2 * NATIVE_ALIGNMENT),
        mp_obj_new_int_from_uint(memory.arena_size + 2 * NATIVE_ALIGNMENT),
    };
    return mp_obj_new_tuple(2, sizes);
}
static MP_DEFINE_CONST_FUN_OBJ_3(model_measure_obj, model_measure);

/** _load(index, choice, memory): memory is the tuple that native_model_of() takes */
static mp_obj_t model_load(mp_obj_t index, mp_obj_t choice, mp_obj_t memory_in)
{
    size_t count;
    mp_obj_t *items;
    mp_obj_get_array(memory_in, &count, &items);
    struct ethosu_model_source source = source_of(index, items[2], choice);
    mp_buffer_info_t object = native_buffer_of(items[0], MP_BUFFER_WRITE, "object");
    mp_buffer_info_t arena = native_buffer_of(items[1], MP_BUFFER_WRITE, "arena");
    if (object.len < 2 * NATIVE_ALIGNMENT || arena.len < NATIVE_ALIGNMENT) {
        mp_raise_ValueError("arena is too small");
    }
    native_job_check_memory(NULL, arena.buf, arena.len);
    struct native_model *header = native_header_of(items[0]);
    header->arena = arena;
    header->file = native_buffer_of(items[2], MP_BUFFER_READ, "model");
    struct ethosu_model_memory memory = {
        .object = (uint8_t *)header + NATIVE_ALIGNMENT,
        .object_size = object.len - 2 * NATIVE_ALIGNMENT,
        .arena = native_aligned(&arena),
        .arena_size = (arena.len - NATIVE_ALIGNMENT) & ~(size_t)(NATIVE_ALIGNMENT - 1),
    };
    struct ethosu_model_error error;
    check_stack(LOADER_STACK);
    native_check_model(ethosu_model_load(&source, &memory, &header->model, &error), &error);
    return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_3(model_load_obj, model_load);

static mp_obj_t model_reset(mp_obj_t memory)
{
    ethosu_model_reset(native_model_of(memory));
    return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_1(model_reset_obj, model_reset);

/** A typed view of memory that an object owns. */
static mp_obj_t new_view(mp_obj_t owner, const struct ethosu_model_buffer *tensor)
{
    uint32_t size = ethosu_model_type_size(tensor->type);
    uint32_t width = size == 0 ? 1 : size;
    const mp_obj_type_t *memoryview = MP_OBJ_TO_PTR(mp_load_global(MP_QSTR_memoryview));
    // The collector only recognises the start of a block, so the view begins there.
    uint8_t *block = mp_obj_get_type(owner) == memoryview
                         ? ((mp_obj_array_t *)MP_OBJ_TO_PTR(owner))->items
                         : native_buffer_of(owner, MP_BUFFER_WRITE, "arena").buf;
    size_t offset = (size_t)((uint8_t *)tensor->data - block) / width;
    const size_t most = ((size_t)1 << MP_OBJ_ARRAY_FREE_SIZE_BITS) - 1;
    if (offset > most) {
        mp_raise_ValueError("arena is a slice that starts too far into its buffer for a "
                            "memoryview: at most 16777215 elements");
    }
    mp_obj_array_t *view = m_malloc(sizeof *view);
    view->base.type = memoryview;
    view->typecode = (uint8_t)(element_typecode(tensor->type) | MP_OBJ_ARRAY_TYPECODE_FLAG_RW);
    view->free = offset; // of a view
    view->len = tensor->size / width;
    view->items = block;
    return MP_OBJ_FROM_PTR(view);
}

/** _buffers(memory, outputs): for each input (or output) index and view */
static mp_obj_t model_buffers(mp_obj_t memory, mp_obj_t outputs)
{
    struct ethosu_model *model = native_model_of(memory);
    bool of_outputs = mp_obj_is_true(outputs);
    size_t items_count;
    mp_obj_t *items;
    mp_obj_get_array(memory, &items_count, &items);
    const struct ethosu_model_buffer *buffers =
        of_outputs ? ethosu_model_outputs(model) : ethosu_model_inputs(model);
    uint32_t count =
        of_outputs ? ethosu_model_output_count(model) : ethosu_model_input_count(model);
    mp_obj_t list = mp_obj_new_list(0, NULL);
    for (uint32_t i = 0; i < count; i++) {
        mp_obj_t pair[] = {MP_OBJ_NEW_SMALL_INT(buffers[i].tensor),
                           new_view(items[1], &buffers[i])};
        mp_obj_list_append(list, mp_obj_new_tuple(2, pair));
    }
    return list;
}
static MP_DEFINE_CONST_FUN_OBJ_2(model_buffers_obj, model_buffers);

/** _view(memory, size): the aligned bytes of a larger buffer */
static mp_obj_t aligned_view(mp_obj_t memory_in, mp_obj_t size)
{
    mp_buffer_info_t memory = native_buffer_of(memory_in, MP_BUFFER_WRITE, "into");
    struct ethosu_model_buffer bytes = {
        .data = native_aligned(&memory),
        .size = (uint32_t)mp_obj_get_int(size),
        .type = ETHOSU_TYPE_UINT8,
    };
    return new_view(memory_in, &bytes);
}
static MP_DEFINE_CONST_FUN_OBJ_2(aligned_view_obj, aligned_view);

/* ---- values of tensors ---- */

void exchange_call(void *owner, mp_obj_t callable, const struct ethosu_model_buffer *input)
{
    size_t count;
    mp_obj_t *items;
    mp_obj_get_array(MP_OBJ_FROM_PTR(owner), &count, &items);
    struct ethosu_model_tensor tensor;
    tensor_get(native_model_of(MP_OBJ_FROM_PTR(owner)), input->tensor, &tensor);
    char code = element_typecode(tensor.type);
    mp_obj_t arguments[] = {
        new_view(items[1], input),
        info_shape(&tensor),
        mp_obj_new_str(&code, 1),
    };
    mp_call_function_n_kw(callable, MP_ARRAY_SIZE(arguments), 0, arguments);
    (void)native_model_of(MP_OBJ_FROM_PTR(owner)); // it may have resized the arena
}

/** _write(memory, given): check and write inputs */
static mp_obj_t model_write(mp_obj_t memory, mp_obj_t given)
{
    exchange_write_inputs(native_model_of(memory), MP_OBJ_TO_PTR(memory), given);
    return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_2(model_write_obj, model_write);

/** _read(memory, given, copy): check buffers for the outputs, or copy them there */
static mp_obj_t model_read(mp_obj_t memory, mp_obj_t given, mp_obj_t copy)
{
    exchange_visit_outputs(native_model_of(memory), given, mp_obj_is_true(copy));
    return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_3(model_read_obj, model_read);

/** _results(memory, real): a list of new arrays for the outputs */
static mp_obj_t model_results(mp_obj_t memory, mp_obj_t real)
{
    return exchange_new_outputs(native_model_of(memory), mp_obj_is_true(real));
}
static MP_DEFINE_CONST_FUN_OBJ_2(model_results_obj, model_results);

/** _fill(memory, results, real): copy the outputs to a list of _results(). Returns it. */
static mp_obj_t model_fill(mp_obj_t memory, mp_obj_t results, mp_obj_t real)
{
    exchange_fill_outputs(native_model_of(memory), results, mp_obj_is_true(real));
    return results;
}
static MP_DEFINE_CONST_FUN_OBJ_3(model_fill_obj, model_fill);

/** _quantize(memory, index, numbers, into) */
static mp_obj_t model_quantize(size_t n_args, const mp_obj_t *args)
{
    (void)n_args;
    tensor_fill_raw_into(native_model_of(args[0]), (uint32_t)mp_obj_get_int(args[1]), args[2],
                         args[3], "into");
    return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(model_quantize_obj, 4, 4, model_quantize);

/** _dequantize(memory, index, raw, into) */
static mp_obj_t model_dequantize(size_t n_args, const mp_obj_t *args)
{
    (void)n_args;
    return tensor_real_into(native_model_of(args[0]), (uint32_t)mp_obj_get_int(args[1]), args[2],
                            args[3]);
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(model_dequantize_obj, 4, 4, model_dequantize);

/** _sequence(given): a list, tuple or None unchanged; a tuple of any other iterable */
static MP_DEFINE_CONST_FUN_OBJ_1(model_sequence_obj, binding_sequence);

/** _tensor(memory, index): name, shape, dtype, scale, zero point, axis, index */
static mp_obj_t model_tensor(mp_obj_t memory, mp_obj_t index)
{
    struct ethosu_model_tensor tensor;
    const struct ethosu_model *model = native_model_of(memory);
    uint32_t number = (uint32_t)mp_obj_get_int(index);
    tensor_get(model, number, &tensor);
    char code = element_typecode(tensor.type);
    mp_obj_t facts[] = {
        mp_obj_new_str(tensor.name, tensor.name_length),
        info_shape(&tensor),
        mp_obj_new_str(&code, 1),
        info_channels(model, number, &tensor, true),
        info_channels(model, number, &tensor, false),
        info_axis(&tensor),
        index,
    };
    return mp_obj_new_tuple(MP_ARRAY_SIZE(facts), facts);
}
static MP_DEFINE_CONST_FUN_OBJ_2(model_tensor_obj, model_tensor);

/** _model_info(memory, file_copied): as Model.info() */
static mp_obj_t model_info(mp_obj_t memory, mp_obj_t file_copied)
{
    const struct ethosu_model *model = native_model_of(memory);
    size_t count;
    mp_obj_t *items;
    mp_obj_get_array(memory, &count, &items);
    const struct native_model *header = native_header_of(items[0]);
    const struct model_properties more = {header->arena.buf, header->file.len,
                                          mp_obj_is_true(file_copied)};
    return info_model(model, &more);
}
static MP_DEFINE_CONST_FUN_OBJ_2(model_info_obj, model_info);

/** _metadata(memory, name): bytes or None */
static mp_obj_t model_metadata(mp_obj_t memory, mp_obj_t name)
{
    uint32_t size;
    const void *data =
        ethosu_model_get_metadata(native_model_of(memory), mp_obj_str_get_str(name), &size);
    return data == NULL ? mp_const_none : mp_obj_new_bytes(data, size);
}
static MP_DEFINE_CONST_FUN_OBJ_2(model_metadata_obj, model_metadata);

/** _facts(memory): of TFLite metadata, for _ethosu_metadata.py */
static mp_obj_t model_facts(mp_obj_t memory)
{
    struct ethosu_model_error error;
    mp_obj_t list = mp_obj_new_list(0, NULL);
    native_check_model(info_facts(native_model_of(memory), list, &error), &error);
    return list;
}
static MP_DEFINE_CONST_FUN_OBJ_1(model_facts_obj, model_facts);

mp_obj_t mpy_init(mp_obj_fun_bc_t *self, size_t count, size_t keywords, mp_obj_t *arguments)
{
    (void)count;
    (void)keywords;
    (void)arguments;
    MP_DYNRUNTIME_INIT_ENTRY
    mp_obj_t array = mp_import_name(MP_QSTR_array, mp_const_none, MP_OBJ_NEW_SMALL_INT(0));
    natmod_array_type = MP_OBJ_TO_PTR(mp_load_attr(array, MP_QSTR_array));
    mp_store_global(MP_QSTR___version__, native_new_text(ETHOSU_VERSION));
    native_npu_register();
    native_job_register();
    mp_store_global(MP_QSTR__measure, MP_OBJ_FROM_PTR(&model_measure_obj));
    mp_store_global(MP_QSTR__load, MP_OBJ_FROM_PTR(&model_load_obj));
    mp_store_global(MP_QSTR__reset, MP_OBJ_FROM_PTR(&model_reset_obj));
    mp_store_global(MP_QSTR__view, MP_OBJ_FROM_PTR(&aligned_view_obj));
    mp_store_global(MP_QSTR__quantize, MP_OBJ_FROM_PTR(&model_quantize_obj));
    mp_store_global(MP_QSTR__dequantize, MP_OBJ_FROM_PTR(&model_dequantize_obj));
    mp_store_global(MP_QSTR__write, MP_OBJ_FROM_PTR(&model_write_obj));
    mp_store_global(MP_QSTR__read, MP_OBJ_FROM_PTR(&model_read_obj));
    mp_store_global(MP_QSTR__results, MP_OBJ_FROM_PTR(&model_results_obj));
    mp_store_global(MP_QSTR__fill, MP_OBJ_FROM_PTR(&model_fill_obj));
    mp_store_global(MP_QSTR__sequence, MP_OBJ_FROM_PTR(&model_sequence_obj));
    mp_store_global(MP_QSTR__buffers, MP_OBJ_FROM_PTR(&model_buffers_obj));
    mp_store_global(MP_QSTR__tensor, MP_OBJ_FROM_PTR(&model_tensor_obj));
    mp_store_global(MP_QSTR__model_info, MP_OBJ_FROM_PTR(&model_info_obj));
    mp_store_global(MP_QSTR__metadata, MP_OBJ_FROM_PTR(&model_metadata_obj));
    mp_store_global(MP_QSTR__facts, MP_OBJ_FROM_PTR(&model_facts_obj));
    MP_DYNRUNTIME_INIT_EXIT
}
