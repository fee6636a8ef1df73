// SPDX-License-Identifier: MIT
/** Python module `dma`: the controller that copies tensors into and out of the arena. */
#include "dma_copy.h"
#include "arm_ethos_io_memcpy.h"
#include "py/obj.h"
#include "py/runtime.h"

/** counters(): number of copies by the controller and by the CPU, and of errors. */
static mp_obj_t dma_module_counters(void)
{
    struct dma_counters now = dma_counters();
    const struct {
        qstr name;
        uint64_t value;
    } rows[] = {
        {MP_QSTR_transfers, now.transfers},   {MP_QSTR_transfer_bytes, now.transfer_bytes},
        {MP_QSTR_cpu_copies, now.cpu_copies}, {MP_QSTR_cpu_bytes, now.cpu_bytes},
        {MP_QSTR_errors, now.errors},         {MP_QSTR_timeouts, now.timeouts},
    };
    mp_obj_t dict = mp_obj_new_dict(MP_ARRAY_SIZE(rows));
    for (size_t i = 0; i < MP_ARRAY_SIZE(rows); i++) {
        mp_obj_dict_store(dict, MP_OBJ_NEW_QSTR(rows[i].name),
                          mp_obj_new_int_from_ull(rows[i].value));
    }
    return dict;
}
static MP_DEFINE_CONST_FUN_OBJ_0(dma_module_counters_obj, dma_module_counters);

/**
 * enable([on]): False leaves all copies to the CPU, over soft resets too; returns whether the
 * controller is in use.
 */
static mp_obj_t dma_module_enable(size_t count, const mp_obj_t *arguments)
{
    if (count > 0) {
        dma_enable(mp_obj_is_true(arguments[0]));
    }
    return mp_obj_new_bool(dma_enabled());
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(dma_module_enable_obj, 0, 1, dma_module_enable);

/** copy(to, from): copy a buffer to another of the same size, in the way tensors are copied. */
static mp_obj_t dma_module_copy(mp_obj_t to, mp_obj_t from)
{
    mp_buffer_info_t target, source;
    mp_get_buffer_raise(to, &target, MP_BUFFER_WRITE);
    mp_get_buffer_raise(from, &source, MP_BUFFER_READ);
    if (target.len != source.len) {
        mp_raise_msg_varg(&mp_type_ValueError, MP_ERROR_TEXT("target has %d bytes, source %d"),
                          (int)target.len, (int)source.len);
    }
    arm_ethos_io_memcpy(target.buf, source.buf, source.len);
    return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_2(dma_module_copy_obj, dma_module_copy);

static const mp_rom_map_elem_t dma_globals_table[] = {
    {MP_ROM_QSTR(MP_QSTR___name__), MP_ROM_QSTR(MP_QSTR_dma)},
    {MP_ROM_QSTR(MP_QSTR_counters), MP_ROM_PTR(&dma_module_counters_obj)},
    {MP_ROM_QSTR(MP_QSTR_enable), MP_ROM_PTR(&dma_module_enable_obj)},
    {MP_ROM_QSTR(MP_QSTR_copy), MP_ROM_PTR(&dma_module_copy_obj)},
};
static MP_DEFINE_CONST_DICT(dma_globals, dma_globals_table);

const mp_obj_module_t dma_module = {
    .base = {&mp_type_module},
    .globals = (mp_obj_dict_t *)&dma_globals,
};

MP_REGISTER_MODULE(MP_QSTR_dma, dma_module);
