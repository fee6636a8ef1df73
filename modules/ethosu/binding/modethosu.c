// SPDX-License-Identifier: MIT
/** Python module `ethosu`: the NPUs of the board, and models that run on them. */
#include "binding.h"

#include <string.h>

#include "ethosu_memory.h"
#include "pmu_ethosu.h"
#include "py/gc.h"
#include "py/mperrno.h"
#include "py/objarray.h"
#include "py/objstr.h"
#include "py/runtime.h"

/** Who waits for an NPU looks for garbage that holds it so often, milliseconds. */
#define RESERVE_SLICE_MS 100u

/** The board's NPUs. Owned by this file: set up at import, taken down at soft reset. */
static struct npu {
    mp_sched_node_t node; /**< first: the scheduler gives it back */
    struct ethosu_driver driver;
    struct binding_work work;
    bool ready;
} npus[BINDING_MAX_NPUS];

/** What each NPU works with right now: the collector must not take it. */
MP_REGISTER_ROOT_POINTER(mp_obj_t ethosu_kept[4]);
/** Whom to call when it has finished, and with what. */
MP_REGISTER_ROOT_POINTER(mp_obj_t ethosu_callback[4]);
MP_REGISTER_ROOT_POINTER(mp_obj_t ethosu_callback_argument[4]);
_Static_assert(BINDING_MAX_NPUS == 4, "the root pointers have one entry for each NPU");

static size_t npu_count(void)
{
    return MIN(ethosu_board.npu_count, BINDING_MAX_NPUS);
}

static void on_interrupt(void *driver)
{
    ethosu_irq_handler(driver);
}

/** Called by the scheduler some time after on_done(). */
static void run_callback(mp_sched_node_t *node)
{
    size_t index = (size_t)((struct npu *)node - npus);
    mp_obj_t callback = MP_STATE_VM(ethosu_callback)[index];
    mp_obj_t argument = MP_STATE_VM(ethosu_callback_argument)[index];
    // Put in the queue by an inference that was ended since, it may find the next one at work.
    if (callback != MP_OBJ_NULL && !binding_running(&npus[index].driver)) {
        binding_call_back(&npus[index].driver, MP_OBJ_NULL, MP_OBJ_NULL);
        // Through the queue: a callback that starts the next inference leaves time for others.
        if (!mp_sched_schedule(callback, argument)) {
            mp_call_function_1_protected(callback, argument);
        }
    }
}

/**
 * The NPU has finished: what it worked with may go. Called by the interrupt handler.
 *
 * Who does not block for an inference sleeps in select.poll() or somewhere else: the scheduler
 * wakes the port, whether there is something to call or not.
 */
static void on_done(struct ethosu_driver *driver, void *npu)
{
    size_t index = (size_t)((struct npu *)npu - npus);
    if (MP_STATE_VM(ethosu_kept)[index] != MP_OBJ_NULL) {
        MP_STATE_VM(ethosu_kept)[index] = MP_OBJ_NULL;
        mp_sched_schedule_node(&npus[index].node, run_callback);
    }
}

static void start_npu(size_t index)
{
    struct ethosu_driver *driver = &npus[index].driver;
    const struct ethosu_npu *npu = &ethosu_board.npus[index];
    if (npus[index].ready || !ethosu_board_npu_present(index)) {
        return;
    }
    // A failure stays readable in the driver: whoever asks for the NPU gets to know it.
    npus[index].ready = ethosu_init(driver, (void *)npu->base, npu->fast_memory,
                                    npu->fast_memory_size, npu->secure, npu->privileged) == 0;
    if (npus[index].ready) {
        ethosu_board_irq_connect(index, on_interrupt, driver);
    }
}

/** import ethosu: set the NPUs up, once. */
static mp_obj_t ethosu_module_init(void)
{
    ethosu_memory_use(&ethosu_board);
    for (size_t i = 0; i < npu_count(); ++i) {
        start_npu(i);
    }
    return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_0(ethosu_module_init_obj, ethosu_module_init);

void ethosu_deinit_all(void)
{
    for (size_t i = 0; i < npu_count(); ++i) {
        if (npus[i].ready) {
            ethosu_board_irq_disconnect(i);
            ethosu_deinit(&npus[i].driver);
            npus[i].ready = false;
        }
        MP_STATE_VM(ethosu_kept)[i] = MP_OBJ_NULL;
        MP_STATE_VM(ethosu_callback)[i] = MP_OBJ_NULL;
        MP_STATE_VM(ethosu_callback_argument)[i] = MP_OBJ_NULL;
        npus[i].work = (struct binding_work){.model = NULL};
        npus[i].node.callback = NULL; // the scheduler's queue ends with the interpreter
    }
    MP_STATE_VM(ethosu_pending_exception) = MP_OBJ_NULL;
}

struct binding_work *binding_work(struct ethosu_driver *npu)
{
    return &((struct npu *)((uint8_t *)npu - offsetof(struct npu, driver)))->work;
}

size_t binding_index(const struct ethosu_driver *npu)
{
    size_t index = 0;
    while (&npus[index].driver != npu) {
        ++index;
    }
    return index;
}

void binding_keep(const struct ethosu_driver *npu, mp_obj_t object)
{
    size_t index = binding_index(npu);
    MP_STATE_VM(ethosu_kept)[index] = object;
    ethosu_ext_on_done(&npus[index].driver, object == MP_OBJ_NULL ? NULL : on_done, &npus[index]);
}

void binding_call_back(const struct ethosu_driver *npu, mp_obj_t callback, mp_obj_t object)
{
    size_t index = binding_index(npu);
    MP_STATE_VM(ethosu_callback)[index] = callback;
    MP_STATE_VM(ethosu_callback_argument)[index] = object;
}

mp_obj_t binding_config(const struct ethosu_driver *npu)
{
    char name[ETHOSU_EXT_CONFIG_NAME_SIZE];
    ethosu_ext_config_name(npu->dev.config, name);
    return mp_obj_new_str(name, strlen(name));
}

/** The NPU of this index; raises when it is not there or did not come up. */
static struct ethosu_driver *npu_at(mp_int_t index)
{
    if (index < 0 || (size_t)index >= npu_count() || !ethosu_board_npu_present((size_t)index)) {
        binding_raise_os_error(MP_ENODEV, "there is no such NPU on this board");
    }
    if (!npus[index].ready) {
        binding_raise_fault(&npus[index].driver.fault);
    }
    return &npus[index].driver;
}

struct ethosu_driver *binding_choose_npu(mp_obj_t which)
{
    if (which == mp_const_none) {
        return npu_at(0);
    }
    if (!mp_obj_is_str(which)) {
        return npu_at(mp_obj_get_int(which));
    }
    const char *wanted = mp_obj_str_get_str(which);
    for (size_t i = 0; i < npu_count(); ++i) {
        char name[ETHOSU_EXT_CONFIG_NAME_SIZE];
        ethosu_ext_config_name(npus[i].driver.dev.config, name);
        if (npus[i].ready && strcmp(name, wanted) == 0) {
            return &npus[i].driver;
        }
    }
    binding_raise_os_error(MP_ENODEV, "no NPU of this board has that config");
}

/** Reserve, or wait a while; garbage that holds the NPU gives it back. */
static int reserve_or_wait(struct ethosu_driver *npu, uint64_t timeout)
{
    uint64_t waited = 0;
    int error;
    do {
        gc_collect(); // a handle or model that nobody holds any more lets go of its NPU
        uint64_t slice = MIN(timeout - waited, RESERVE_SLICE_MS);
        error = ethosu_ext_reserve_this(npu, slice);
        waited += slice;
    } while (error == ETHOSU_EXT_E_NONE_FREE && waited < timeout &&
             MP_STATE_VM(ethosu_pending_exception) == MP_OBJ_NULL);
    return error;
}

void binding_reserve_npu(struct ethosu_driver *npu, uint64_t timeout)
{
    int error = ethosu_ext_reserve_this(npu, 0);
    if (error == 0) {
        return;
    }
    if (error == ETHOSU_EXT_E_NONE_FREE) {
        error = reserve_or_wait(npu, timeout);
    }
    if (MP_STATE_VM(ethosu_pending_exception) != MP_OBJ_NULL) {
        if (error == 0) {
            ethosu_release_driver(npu);
        }
        binding_raise_pending();
    }
    if (error == ETHOSU_EXT_E_NONE_FREE && timeout == 0) {
        binding_raise_os_error(MP_EBUSY, "the NPU is reserved: release it first");
    }
    if (error != 0) {
        struct ethosu_ext_fault fault = *ethosu_ext_last_error(npu);
        if (error == ETHOSU_EXT_E_NONE_FREE) {
            fault.found = timeout; // not its last slice
        }
        binding_raise_fault(&fault);
    }
}

/** npus(): the configs of the board's NPUs, "ethos-u55-128". */
static mp_obj_t ethosu_npus(void)
{
    mp_obj_t list = mp_obj_new_list(0, NULL);
    for (size_t i = 0; i < npu_count(); ++i) {
        if (npus[i].ready) {
            mp_obj_list_append(list, binding_config(&npus[i].driver));
        }
    }
    return list;
}
static MP_DEFINE_CONST_FUN_OBJ_0(ethosu_npus_obj, ethosu_npus);

/** buffer(size): zeroed memory that every NPU can use as a base pointer, as a memoryview. */
static mp_obj_t ethosu_buffer(mp_obj_t size_in)
{
    mp_int_t size = mp_obj_get_int(size_in);
    if (size < 0) {
        mp_raise_msg_varg(&mp_type_ValueError, MP_ERROR_TEXT("size is %d, 0 or more expected"),
                          (int)size);
    }
    struct block block = binding_allocate((size_t)size);
    memset(block.data, 0, block.size);
    mp_obj_array_t *view = m_new_obj(mp_obj_array_t);
    mp_obj_memoryview_init(view, 'B' | MP_OBJ_ARRAY_TYPECODE_FLAG_RW,
                           (size_t)((uint8_t *)block.data - (uint8_t *)block.start), (size_t)size,
                           block.start);
    return MP_OBJ_FROM_PTR(view);
}
static MP_DEFINE_CONST_FUN_OBJ_1(ethosu_buffer_obj, ethosu_buffer);

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
    {MP_ROM_QSTR(MP_QSTR_Model), MP_ROM_PTR(&binding_model_type)},
    {MP_ROM_QSTR(MP_QSTR_NPU), MP_ROM_PTR(&binding_npu_type)},
    {MP_ROM_QSTR(MP_QSTR_Tensor), MP_ROM_PTR(&binding_tensor_type)},
    {MP_ROM_QSTR(MP_QSTR_buffer), MP_ROM_PTR(&ethosu_buffer_obj)},
    {MP_ROM_QSTR(MP_QSTR_npus), MP_ROM_PTR(&ethosu_npus_obj)},
    {MP_ROM_QSTR(MP_QSTR_reserve), MP_ROM_PTR(&binding_reserve_obj)},
#ifndef ETHOSU_NO_PMU
    {MP_ROM_QSTR(MP_QSTR_PMU), MP_ROM_PTR(&binding_pmu_type)},
    // The events that people ask for; NPU.pmu() takes any event's number.
    {MP_ROM_QSTR(MP_QSTR_PMU_CYCLE), MP_ROM_INT(ETHOSU_PMU_CYCLE)},
    {MP_ROM_QSTR(MP_QSTR_PMU_NPU_IDLE), MP_ROM_INT(ETHOSU_PMU_NPU_IDLE)},
    {MP_ROM_QSTR(MP_QSTR_PMU_NPU_ACTIVE), MP_ROM_INT(ETHOSU_PMU_NPU_ACTIVE)},
    {MP_ROM_QSTR(MP_QSTR_PMU_MAC_ACTIVE), MP_ROM_INT(ETHOSU_PMU_MAC_ACTIVE)},
    {MP_ROM_QSTR(MP_QSTR_PMU_MAC_STALLED_BY_ACC), MP_ROM_INT(ETHOSU_PMU_MAC_STALLED_BY_ACC)},
    {MP_ROM_QSTR(MP_QSTR_PMU_MAC_STALLED_BY_IB), MP_ROM_INT(ETHOSU_PMU_MAC_STALLED_BY_IB)},
    {MP_ROM_QSTR(MP_QSTR_PMU_AO_ACTIVE), MP_ROM_INT(ETHOSU_PMU_AO_ACTIVE)},
    {MP_ROM_QSTR(MP_QSTR_PMU_AO_STALLED_BY_OB), MP_ROM_INT(ETHOSU_PMU_AO_STALLED_BY_OB)},
    {MP_ROM_QSTR(MP_QSTR_PMU_WD_ACTIVE), MP_ROM_INT(ETHOSU_PMU_WD_ACTIVE)},
    {MP_ROM_QSTR(MP_QSTR_PMU_WD_STALLED), MP_ROM_INT(ETHOSU_PMU_WD_STALLED)},
    {MP_ROM_QSTR(MP_QSTR_PMU_AXI0_RD_DATA_BEAT_RECEIVED),
     MP_ROM_INT(ETHOSU_PMU_AXI0_RD_DATA_BEAT_RECEIVED)},
    {MP_ROM_QSTR(MP_QSTR_PMU_AXI0_WR_DATA_BEAT_WRITTEN),
     MP_ROM_INT(ETHOSU_PMU_AXI0_WR_DATA_BEAT_WRITTEN)},
    {MP_ROM_QSTR(MP_QSTR_PMU_AXI1_RD_DATA_BEAT_RECEIVED),
     MP_ROM_INT(ETHOSU_PMU_AXI1_RD_DATA_BEAT_RECEIVED)},
#endif
    BINDING_DOC_ENTRY(module_doc)};
static MP_DEFINE_CONST_DICT(ethosu_globals, ethosu_globals_table);

const mp_obj_module_t ethosu_module = {
    .base = {&mp_type_module},
    .globals = (mp_obj_dict_t *)&ethosu_globals,
};

MP_REGISTER_MODULE(MP_QSTR_ethosu, ethosu_module);
