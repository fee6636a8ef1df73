// SPDX-License-Identifier: MIT
/** Descriptions of NPUs, models and tensors as Python objects; see info.h. */
#include "binding/tensor/info.h"

#include <string.h>

#include "binding/tensor/tensor_fill.h"
#include "runtime/load/metadata.h"
#include "py/objtuple.h"
#include "py/runtime.h"
#include "runtime/load/tflite_metadata.h"

static void store(mp_obj_t dict, qstr key, mp_obj_t value)
{
    mp_obj_dict_store(dict, MP_OBJ_NEW_QSTR(key), value);
}

static void store_text(mp_obj_t dict, qstr key, const char *text)
{
    store(dict, key, mp_obj_new_str(text, strlen(text)));
}

static mp_obj_t new_version(uint32_t major, uint32_t minor, uint32_t patch)
{
    mp_obj_t numbers[] = {
        MP_OBJ_NEW_SMALL_INT(major),
        MP_OBJ_NEW_SMALL_INT(minor),
        MP_OBJ_NEW_SMALL_INT(patch),
    };
    return mp_obj_new_tuple(MP_ARRAY_SIZE(numbers), numbers);
}

mp_obj_t info_npu(struct ethosu_driver *npu)
{
    struct ethosu_hw_info hw;
    struct ethosu_driver_version version;
    struct ethosu_ext_counts counts;
    char name[ETHOSU_EXT_CONFIG_NAME_SIZE];
    ethosu_get_hw_info(npu, &hw);
    ethosu_get_driver_version(&version);
    ethosu_ext_get_counts(npu, &counts);
    ethosu_ext_config_name(ethosu_ext_config(npu), name);
    mp_obj_t dict = mp_obj_new_dict(6);
    store_text(dict, MP_QSTR_config, name);
    store(dict, MP_QSTR_macs, MP_OBJ_NEW_SMALL_INT(1 << hw.cfg.macs_per_cc));
    store(dict, MP_QSTR_arch,
          new_version(hw.version.arch_major_rev, hw.version.arch_minor_rev,
                      hw.version.arch_patch_rev));
    store(dict, MP_QSTR_driver, new_version(version.major, version.minor, version.patch));
    store(dict, MP_QSTR_timeouts, mp_obj_new_int_from_uint(counts.timeouts));
    store(dict, MP_QSTR_resets, mp_obj_new_int_from_uint(counts.resets));
    return dict;
}

mp_obj_t info_vela(const struct ethosu_model *model)
{
    uint32_t size;
    const char *vela = ethosu_model_get_metadata(model, "vela_version", &size);
    if (vela == NULL) {
        return mp_const_none;
    }
    const char *end = memchr(vela, '\0', size);
    return mp_obj_new_str(vela, end == NULL ? size : (size_t)(end - vela));
}

/** NPU time per inference on a board, as stored by `ethosu compile --board`. */
static mp_obj_t estimate_us(const struct ethosu_model *model)
{
    uint32_t size, microseconds;
    const void *latency = ethosu_model_get_metadata(model, "ethosu_latency", &size);
    if (latency == NULL || size < sizeof microseconds) {
        return mp_const_none;
    }
    memcpy(&microseconds, latency, sizeof microseconds);
    return mp_obj_new_int_from_uint(microseconds);
}

static void append_fact(void *list, const struct tflite_fact *fact)
{
    mp_obj_t items[] = {
        MP_OBJ_NEW_SMALL_INT(fact->subject),
        MP_OBJ_NEW_SMALL_INT(fact->kind),
        fact->data == NULL ? mp_const_none : mp_obj_new_bytes(fact->data, fact->size),
    };
    mp_obj_list_append(MP_OBJ_FROM_PTR(list), mp_obj_new_tuple(MP_ARRAY_SIZE(items), items));
}

int info_facts(const struct ethosu_model *model, mp_obj_t list, struct ethosu_model_error *error)
{
    return tflite_metadata_read(model, append_fact, MP_OBJ_TO_PTR(list), error);
}

const char *info_weights(const struct ethosu_model_info *info, bool file_copied)
{
    if (info->copied_bytes != 0) {
        return info->copied_from_afar
                   ? "copied to the arena: the NPU does not reach the file's memory; use /rom"
                   : "copied to the arena: the file is misaligned; ethosu deploy aligns it";
    }
    return file_copied ? "used in place: the file was read into RAM" : "used in place";
}

mp_obj_t info_model(const struct ethosu_model *model, const struct model_properties *more)
{
    struct ethosu_model_info info;
    ethosu_model_get_info(model, &info);
    const struct {
        qstr key;
        uint32_t value;
    } numbers[] = {
        {MP_QSTR_npu_calls, info.npu_calls},
        {MP_QSTR_cpu_steps, info.cpu_steps},
        {MP_QSTR_cpu_steps_overlapped, info.cpu_steps_overlapped},
        {MP_QSTR_tensors, info.tensors},
        {MP_QSTR_arena_address, (uint32_t)(uintptr_t)more->arena},
        {MP_QSTR_arena_size, info.arena_size},
        {MP_QSTR_object_size, info.object_size},
        {MP_QSTR_file_size, more->file_size},
        {MP_QSTR_copied_bytes, info.copied_bytes},
        {MP_QSTR_scratch_size, info.scratch_size},
        {MP_QSTR_fast_scratch_size, info.fast_scratch_size},
    };
    mp_obj_t dict = mp_obj_new_dict(MP_ARRAY_SIZE(numbers) + 6);
    store_text(dict, MP_QSTR_config, info.npu);
    for (size_t i = 0; i < MP_ARRAY_SIZE(numbers); i++) {
        store(dict, numbers[i].key, mp_obj_new_int_from_uint(numbers[i].value));
    }
    uint32_t steps = info.npu_calls + info.cpu_steps;
    store(dict, MP_QSTR_npu_share, mp_obj_new_float((mp_float_t)info.npu_calls / MAX(steps, 1)));
    store(dict, MP_QSTR_vela, info_vela(model));
    store(dict, MP_QSTR_keeps_state, mp_obj_new_bool(info.keeps_state));
    store(dict, MP_QSTR_estimate_us, estimate_us(model));
    store_text(dict, MP_QSTR_weights, info_weights(&info, more->file_copied));
    return dict;
}

mp_obj_t info_shape(const struct ethosu_model_tensor *tensor)
{
    mp_obj_t dimensions[ETHOSU_MODEL_MAX_RANK];
    for (uint32_t i = 0; i < tensor->rank; i++) {
        dimensions[i] = mp_obj_new_int(tensor->shape[i]);
    }
    return mp_obj_new_tuple(tensor->rank, dimensions);
}

mp_obj_t info_channels(const struct ethosu_model *model, uint32_t index,
                       const struct ethosu_model_tensor *tensor, bool scales)
{
    if (tensor->channels <= 1) {
        return scales ? mp_obj_new_float_from_f(tensor->scale) : mp_obj_new_int(tensor->zero_point);
    }
    mp_obj_tuple_t *tuple = MP_OBJ_TO_PTR(mp_obj_new_tuple(tensor->channels, NULL));
    for (uint32_t i = 0; i < tensor->channels; i++) {
        struct quantization quantization = tensor_channel(model, index, i);
        tuple->items[i] = scales ? mp_obj_new_float_from_f(quantization.scale)
                                 : mp_obj_new_int(quantization.zero_point);
    }
    return MP_OBJ_FROM_PTR(tuple);
}

mp_obj_t info_order(const struct ethosu_model_tensor *tensor)
{
    mp_obj_t dimensions[ETHOSU_MODEL_MAX_RANK];
    for (uint32_t i = 0; i < tensor->rank; i++) {
        dimensions[i] = MP_OBJ_NEW_SMALL_INT(tensor->order[i]);
    }
    return mp_obj_new_tuple(tensor->rank, dimensions);
}

mp_obj_t info_axis(const struct ethosu_model_tensor *tensor)
{
    return tensor->channels > 1 ? mp_obj_new_int_from_uint(tensor->axis) : mp_const_none;
}
