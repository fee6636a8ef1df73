// SPDX-License-Identifier: MIT
/** Python module `ethosu`: the NPUs of the board, and models that run on them. */
#include <string.h>

#include "binding/call/methods.h"
#include "binding/call/raise.h"
#include "binding/memory/buffers.h"
#include "binding/model/model_object.h"
#include "binding/npu/job.h"
#include "binding/npu/npu_object.h"
#include "ethosu_memory.h"
#include "ethosu_version.h"
#include "pmu_ethosu.h"
#include "py/binary.h"
#include "py/mperrno.h"
#include "py/objarray.h"
#include "py/objstr.h"
#include "py/runtime.h"

#if !MICROPY_PY_BUILTINS_FLOAT
#error "Module ethosu needs floats: set MICROPY_FLOAT_IMPL in the port, or leave this module out"
#endif
#if !MICROPY_SCHEDULER_STATIC_NODES
#error "Module ethosu schedules calls: set MICROPY_SCHEDULER_STATIC_NODES to 1 in the port"
#endif

/** import ethosu: set the NPUs up, once. */
static mp_obj_t ethosu_module_init(void)
{
    npus_init();
    return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_0(ethosu_module_init_obj, ethosu_module_init);

/** buffer(size): zeroed memory that every NPU can use as a base pointer, as a memoryview. */
static mp_obj_t ethosu_buffer(mp_obj_t size_in)
{
    mp_int_t size = mp_obj_get_int(size_in);
    if (size < 0) {
        mp_raise_msg_varg(&mp_type_ValueError, MP_ERROR_TEXT("size is %d, expected 0 or more"),
                          (int)size);
    }
    struct block block = binding_allocate((size_t)size, "the buffer");
    if (!ethosu_ext_memory_reaches(block.data, block.size, ETHOSU_NPU_READS | ETHOSU_NPU_WRITES)) {
        binding_raise_os_error(MP_EFAULT, "Python's heap is in memory that the NPU can't use");
    }
    memset(block.data, 0, block.size);
    return binding_view(block.data, block.start, BYTEARRAY_TYPECODE | MP_OBJ_ARRAY_TYPECODE_FLAG_RW,
                        (size_t)size);
}
static MP_DEFINE_CONST_FUN_OBJ_1(ethosu_buffer_obj, ethosu_buffer);

static const MP_DEFINE_STR_OBJ(version_obj, ETHOSU_VERSION);

BINDING_DOC(module_doc,
            "Models on an Ethos-U NPU.\n"
            "  m = ethosu.Model(\"/rom/NAME.tflite\")  # from: ethosu compile; help(ethosu.Model)\n"
            "  y, = m.predict([x])                   # raw values or floats in, new arrays out\n"
            "  m.inputs[0].quantize(v); m.run_into() # in place, nothing allocated\n"
            "  y = await m.run([x])                  # asyncio\n"
            "  with ethosu.reserve() as npu: ...     # the NPU itself; help(ethosu.NPU)")

static const mp_rom_map_elem_t ethosu_globals_table[] = {
    {MP_ROM_QSTR(MP_QSTR___name__), MP_ROM_QSTR(MP_QSTR_ethosu)},
    {MP_ROM_QSTR(MP_QSTR___init__), MP_ROM_PTR(&ethosu_module_init_obj)},
    {MP_ROM_QSTR(MP_QSTR___version__), MP_ROM_PTR(&version_obj)},
    {MP_ROM_QSTR(MP_QSTR_Model), MP_ROM_PTR(&binding_model_type)},
    {MP_ROM_QSTR(MP_QSTR_NPU), MP_ROM_PTR(&binding_npu_type)},
    {MP_ROM_QSTR(MP_QSTR_Tensor), MP_ROM_PTR(&binding_tensor_type)},
    {MP_ROM_QSTR(MP_QSTR_buffer), MP_ROM_PTR(&ethosu_buffer_obj)},
    {MP_ROM_QSTR(MP_QSTR_npus), MP_ROM_PTR(&npus_obj)},
    {MP_ROM_QSTR(MP_QSTR_reserve), MP_ROM_PTR(&npu_reserve_obj)},
#if ETHOSU_PMU
    {MP_ROM_QSTR(MP_QSTR_PMU), MP_ROM_PTR(&binding_pmu_type)},
    // The most useful events; NPU.pmu() accepts any event's number.
    {MP_ROM_QSTR(MP_QSTR_PMU_CYCLE), MP_ROM_INT(ETHOSU_EXT_PMU_CYCLE)},
    {MP_ROM_QSTR(MP_QSTR_PMU_NPU_IDLE), MP_ROM_INT(ETHOSU_EXT_PMU_NPU_IDLE)},
    {MP_ROM_QSTR(MP_QSTR_PMU_NPU_ACTIVE), MP_ROM_INT(ETHOSU_EXT_PMU_NPU_ACTIVE)},
    {MP_ROM_QSTR(MP_QSTR_PMU_MAC_ACTIVE), MP_ROM_INT(ETHOSU_EXT_PMU_MAC_ACTIVE)},
    {MP_ROM_QSTR(MP_QSTR_PMU_MAC_STALLED_BY_ACC), MP_ROM_INT(ETHOSU_EXT_PMU_MAC_STALLED_BY_ACC)},
    {MP_ROM_QSTR(MP_QSTR_PMU_MAC_STALLED_BY_IB), MP_ROM_INT(ETHOSU_EXT_PMU_MAC_STALLED_BY_IB)},
    {MP_ROM_QSTR(MP_QSTR_PMU_AO_ACTIVE), MP_ROM_INT(ETHOSU_EXT_PMU_AO_ACTIVE)},
    {MP_ROM_QSTR(MP_QSTR_PMU_AO_STALLED_BY_OB), MP_ROM_INT(ETHOSU_EXT_PMU_AO_STALLED_BY_OB)},
    {MP_ROM_QSTR(MP_QSTR_PMU_WD_ACTIVE), MP_ROM_INT(ETHOSU_EXT_PMU_WD_ACTIVE)},
    {MP_ROM_QSTR(MP_QSTR_PMU_WD_STALLED), MP_ROM_INT(ETHOSU_EXT_PMU_WD_STALLED)},
    {MP_ROM_QSTR(MP_QSTR_PMU_AXI0_RD_DATA_BEAT_RECEIVED),
     MP_ROM_INT(ETHOSU_EXT_PMU_AXI0_RD_DATA_BEAT_RECEIVED)},
    {MP_ROM_QSTR(MP_QSTR_PMU_AXI0_WR_DATA_BEAT_WRITTEN),
     MP_ROM_INT(ETHOSU_EXT_PMU_AXI0_WR_DATA_BEAT_WRITTEN)},
    {MP_ROM_QSTR(MP_QSTR_PMU_AXI1_RD_DATA_BEAT_RECEIVED),
     MP_ROM_INT(ETHOSU_EXT_PMU_AXI1_RD_DATA_BEAT_RECEIVED)},
#endif
    BINDING_DOC_ENTRY(module_doc)};
static MP_DEFINE_CONST_DICT(ethosu_globals, ethosu_globals_table);

const mp_obj_module_t ethosu_module = {
    .base = {&mp_type_module},
    .globals = (mp_obj_dict_t *)&ethosu_globals,
};

MP_REGISTER_MODULE(MP_QSTR_ethosu, ethosu_module);
