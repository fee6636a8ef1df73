// SPDX-License-Identifier: MIT
/**
 * Python module `emulator`: exact counts, for benchmarks that repeat. Importing
 * it raises ImportError where the firmware does not run on the emulator.
 */
#include "emulator.h"
#include "emulator_page.h"
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

/** npu_instructions(): guest instructions while the last NPU run was under way. */
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
    {MP_ROM_QSTR(MP_QSTR_log), MP_ROM_PTR(&emulator_log_obj)},
};
static MP_DEFINE_CONST_DICT(emulator_globals, emulator_globals_table);

const mp_obj_module_t emulator_module = {
    .base = {&mp_type_module},
    .globals = (mp_obj_dict_t *)&emulator_globals,
};

MP_REGISTER_MODULE(MP_QSTR_emulator, emulator_module);
