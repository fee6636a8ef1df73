// SPDX-License-Identifier: MIT
/**
 * Python module `emulator`: exact counts, for benchmarks that repeat. Importing
 * it raises ImportError where the firmware does not run on the emulator.
 */
#include "emulator.h"

#include <string.h>

#include "arm_ethos_io_memcpy.h"
#include "emulator_registers.h"
#include "modemulator.h"
#include "py/obj.h"
#include "py/runtime.h"

static mp_obj_t emulator_init(void)
{
    if ((emulator_features() & EMULATOR_FEATURE_INSN_COUNT) == 0) {
        mp_raise_msg(&mp_type_ImportError,
                     MP_ERROR_TEXT("emulator: not running on QEMU with the ethosu plugin"));
    }
    return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_0(emulator_init_obj, emulator_init);

/** instructions(): guest instructions since the machine started. */
static mp_obj_t emulator_instructions(void)
{
    return mp_obj_new_int_from_ull(emulator_counter(EMULATOR_INSN_LO));
}
static MP_DEFINE_CONST_FUN_OBJ_0(emulator_instructions_obj, emulator_instructions);

/** npu_instructions(): guest instructions during the last NPU run. */
static mp_obj_t emulator_npu_instructions(void)
{
    return mp_obj_new_int_from_ull(emulator_counter(EMULATOR_NPU_INSN_LO));
}
static MP_DEFINE_CONST_FUN_OBJ_0(emulator_npu_instructions_obj, emulator_npu_instructions);

/** npu_slept(): did the CPU sleep (WFI) when the last NPU run completed? */
static mp_obj_t emulator_npu_slept(void)
{
    return mp_obj_new_bool(emulator_register(EMULATOR_NPU_IDLE) != 0);
}
static MP_DEFINE_CONST_FUN_OBJ_0(emulator_npu_slept_obj, emulator_npu_slept);

/** dma_slept(): did the CPU sleep (WFI) when the last DMA transfer completed? */
static mp_obj_t emulator_dma_slept(void)
{
    return mp_obj_new_bool(emulator_register(EMULATOR_DMA_IDLE) != 0);
}
static MP_DEFINE_CONST_FUN_OBJ_0(emulator_dma_slept_obj, emulator_dma_slept);

/** copy_cost(to, from, hook): instructions of one copy, by the tensor copy hook or by memcpy(). */
static mp_obj_t emulator_copy_cost(mp_obj_t to, mp_obj_t from, mp_obj_t hook)
{
    mp_buffer_info_t target, source;
    mp_get_buffer_raise(to, &target, MP_BUFFER_WRITE);
    mp_get_buffer_raise(from, &source, MP_BUFFER_READ);
    size_t size = target.len < source.len ? target.len : source.len;
    bool by_hook = mp_obj_is_true(hook);
    uint64_t before = emulator_counter(EMULATOR_INSN_LO);
    if (by_hook) {
        arm_ethos_io_memcpy(target.buf, source.buf, size);
    } else {
        memcpy(target.buf, source.buf, size);
    }
    return mp_obj_new_int_from_ull(emulator_counter(EMULATOR_INSN_LO) - before);
}
static MP_DEFINE_CONST_FUN_OBJ_3(emulator_copy_cost_obj, emulator_copy_cost);

/** Call the program's global function `emulator_call`, if defined. */
static mp_obj_t call_program(mp_obj_t unused)
{
    mp_map_elem_t *function = mp_map_lookup(&MP_STATE_VM(dict_main).map,
                                            MP_OBJ_NEW_QSTR(MP_QSTR_emulator_call), MP_MAP_LOOKUP);
    return function ? mp_call_function_0(function->value) : mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_1(call_program_obj, call_program);

void emulator_on_call(void)
{
    mp_sched_schedule(MP_OBJ_FROM_PTR(&call_program_obj), mp_const_none);
}

/**
 * fault(name, count=1, after=0): inject a device fault such as "npu1.bus-error" after `after`
 * nanoseconds of the board's time; a count of 0 withdraws it.
 */
static mp_obj_t emulator_fault(size_t count, const mp_obj_t *arguments)
{
    vstr_t text;
    vstr_init(&text, 32);
    const char *name = mp_obj_str_get_str(arguments[0]);
    vstr_printf(&text, "%s:%d@%u", name, count > 1 ? (int)mp_obj_get_int(arguments[1]) : 1,
                count > 2 ? (unsigned)mp_obj_get_int_truncated(arguments[2]) : 0);
    bool known = emulator_inject(text.buf, text.len);
    vstr_clear(&text);
    if (!known) {
        mp_raise_msg_varg(&mp_type_ValueError, MP_ERROR_TEXT("unknown fault %s"), name);
    }
    return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(emulator_fault_obj, 1, 3, emulator_fault);

/** log(text): print on the host's stderr. */
static mp_obj_t emulator_log_text(mp_obj_t text)
{
    size_t size;
    const char *bytes = mp_obj_str_get_data(text, &size);
    emulator_log(bytes, size);
    return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_1(emulator_log_obj, emulator_log_text);

static const mp_rom_map_elem_t emulator_globals_table[] = {
    {MP_ROM_QSTR(MP_QSTR___name__), MP_ROM_QSTR(MP_QSTR_emulator)},
    {MP_ROM_QSTR(MP_QSTR___init__), MP_ROM_PTR(&emulator_init_obj)},
    {MP_ROM_QSTR(MP_QSTR_instructions), MP_ROM_PTR(&emulator_instructions_obj)},
    {MP_ROM_QSTR(MP_QSTR_npu_instructions), MP_ROM_PTR(&emulator_npu_instructions_obj)},
    {MP_ROM_QSTR(MP_QSTR_npu_slept), MP_ROM_PTR(&emulator_npu_slept_obj)},
    {MP_ROM_QSTR(MP_QSTR_dma_slept), MP_ROM_PTR(&emulator_dma_slept_obj)},
    {MP_ROM_QSTR(MP_QSTR_copy_cost), MP_ROM_PTR(&emulator_copy_cost_obj)},
#ifndef FIRMWARE_PLAIN
    {MP_ROM_QSTR(MP_QSTR_model_costs), MP_ROM_PTR(&bench_model_costs_obj)},
#endif
#ifdef EMULATOR_MICROPHONE
    {MP_ROM_QSTR(MP_QSTR_microphone), MP_ROM_PTR(&emulator_microphone_obj)},
#endif
    {MP_ROM_QSTR(MP_QSTR_fault), MP_ROM_PTR(&emulator_fault_obj)},
    {MP_ROM_QSTR(MP_QSTR_log), MP_ROM_PTR(&emulator_log_obj)},
};
static MP_DEFINE_CONST_DICT(emulator_globals, emulator_globals_table);

const mp_obj_module_t emulator_module = {
    .base = {&mp_type_module},
    .globals = (mp_obj_dict_t *)&emulator_globals,
};

MP_REGISTER_MODULE(MP_QSTR_emulator, emulator_module);
