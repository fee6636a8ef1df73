// SPDX-License-Identifier: MIT
/** The NPUs of the board: init at import, deinit at soft reset, choice, reservation; see job.h. */
#include "binding/npu/job.h"

#include <string.h>

#include "binding/call/raise.h"
#include "binding/memory/buffers.h"
#include "binding/npu/npu_object.h"
#include "ethosu_memory.h"
#include "py/gc.h"
#include "py/mperrno.h"
#include "py/objstr.h"

/** Interval (ms) at which a waiting reserve() runs the garbage collector, to free leaked handles.
 */
#define RESERVE_SLICE_MS 100u

static size_t npu_count(void)
{
    return MIN(ethosu_board.npu_count, BINDING_MAX_NPUS);
}

static void on_interrupt(void *driver)
{
    ethosu_irq_handler(driver);
}

static void start_npu(size_t index)
{
    struct ethosu_driver *driver = &binding_npus[index].driver;
    const struct ethosu_npu *npu = &ethosu_board.npus[index];
    if (binding_npus[index].ready || !ethosu_ext_board_npu_present(index)) {
        return;
    }
    // The driver keeps the reason for a failure; npu_at() raises it.
    binding_npus[index].ready =
        ethosu_init(driver, (void *)npu->base, npu->fast_memory, npu->fast_memory_size, npu->secure,
                    npu->privileged) == 0;
    if (binding_npus[index].ready) {
        ethosu_ext_board_irq_connect(index, on_interrupt, driver);
    }
}

void npus_init(void)
{
    if (ethosu_ext_memory_board()->memories == NULL) { // else the start-up code has chosen a table
        ethosu_ext_memory_use(&ethosu_board);
    }
    for (size_t i = 0; i < npu_count(); i++) {
        start_npu(i);
    }
}

void ethosu_deinit_all(void)
{
    for (size_t i = 0; i < npu_count(); i++) {
        if (binding_npus[i].ready) {
            ethosu_ext_board_irq_disconnect(i);
            ethosu_deinit(&binding_npus[i].driver);
            binding_npus[i].ready = false;
        }
        job_deinit(&binding_npus[i].driver);
    }
    pin_remove_all();
    binding_keep_exception(MP_OBJ_NULL);
}

/** Room for ": " or ", " and a name, for each NPU that a message lists. */
#define NAMES_SIZE (BINDING_MAX_NPUS * (ETHOSU_EXT_CONFIG_NAME_SIZE + 2))

/** The configs of the NPUs, ": ethos-u55-128, ethos-u55-256", for messages. */
static const char *list_names(char names[NAMES_SIZE])
{
    names[0] = '\0';
    for (size_t i = 0, used = 0; i < npu_count(); i++) {
        if (binding_npus[i].ready) {
            memcpy(names + used, used == 0 ? ": " : ", ", 2);
            ethosu_ext_config_name(ethosu_ext_config(&binding_npus[i].driver), names + used + 2);
            used = strlen(names);
        }
    }
    return names;
}

/** The NPU at this index; raises if it does not exist or failed to start. */
static struct ethosu_driver *npu_at(mp_int_t index)
{
    bool known = index >= 0 && (size_t)index < npu_count();
    if (!known || !(binding_npus[index].ready || ethosu_ext_board_npu_present((size_t)index))) {
        char names[NAMES_SIZE];
        binding_raise_os_error(MP_ENODEV,
                               "this board has no NPU %d; ethosu.npus() lists its NPUs%s",
                               (int)index, list_names(names));
    }
    if (!binding_npus[index].ready) {
        binding_raise_fault(ethosu_ext_last_error(&binding_npus[index].driver));
    }
    return &binding_npus[index].driver;
}

struct ethosu_driver *npus_choose(mp_obj_t which)
{
    if (which == mp_const_none) {
        return npu_at(0);
    }
    if (!mp_obj_is_str(which)) {
        return npu_at(mp_obj_get_int(which));
    }
    const char *requested = mp_obj_str_get_str(which);
    for (size_t i = 0; i < npu_count(); i++) {
        char name[ETHOSU_EXT_CONFIG_NAME_SIZE];
        ethosu_ext_config_name(ethosu_ext_config(&binding_npus[i].driver), name);
        if (binding_npus[i].ready && strcmp(name, requested) == 0) {
            return &binding_npus[i].driver;
        }
    }
    char names[NAMES_SIZE];
    binding_raise_os_error(MP_ENODEV,
                           "this board has no NPU '%.40s'; ethosu.npus() lists its NPUs%s",
                           requested, list_names(names));
}

_Noreturn void npus_raise_wrong(const char *reason)
{
    char names[NAMES_SIZE];
    size_t ready = 0;
    for (size_t i = 0; i < npu_count(); i++) {
        ready += binding_npus[i].ready;
    }
    (void)list_names(names); // a port without error messages takes no arguments below
    mp_raise_msg_varg(&mp_type_ValueError,
                      ready > 1 ? MP_ERROR_TEXT("%s; NPUs of this board%s") : MP_ERROR_TEXT("%s"),
                      reason, names);
}

bool npus_are_busy(void)
{
    bool busy = false;
    for (size_t i = 0; i < npu_count(); i++) {
        struct ethosu_driver *npu = &binding_npus[i].driver;
        bool works =
            binding_npus[i].ready && (job_of(npu)->owner != NULL || ethosu_ext_is_running(npu));
        busy |= works && !job_reap_abandoned(npu);
    }
    return busy;
}

/** Reserve, or wait for the NPU; the collector releases handles that the program has lost. */
static int reserve_or_wait(struct ethosu_driver *npu, uint64_t timeout)
{
    uint64_t waited = 0;
    int error;
    job_reap_abandoned(npu);
    do {
        job_reap_late(npu);
        gc_collect(); // the finaliser of a lost handle or model releases its NPU
        uint64_t slice = MIN(timeout - waited, RESERVE_SLICE_MS);
        error = ethosu_ext_reserve_this(npu, slice);
        waited += slice;
    } while (error == ETHOSU_EXT_E_NONE_FREE && waited < timeout && !binding_is_exception_kept());
    return error;
}

void npus_reserve(struct ethosu_driver *npu, uint64_t timeout)
{
    int error = ethosu_ext_reserve_this(npu, 0);
    if (error == 0) {
        return;
    }
    if (error == ETHOSU_EXT_E_NONE_FREE) {
        error = reserve_or_wait(npu, timeout);
    }
    if (binding_is_exception_kept()) {
        if (error == 0) {
            ethosu_release_driver(npu);
        }
        binding_raise_pending();
    }
    if (error == ETHOSU_EXT_E_NONE_FREE && timeout == 0) {
        binding_raise_os_error(MP_EBUSY,
                               "the NPU is reserved: release it first; Ctrl-D releases a lost "
                               "one");
    }
    if (error != 0) {
        struct ethosu_ext_fault fault = *ethosu_ext_last_error(npu);
        if (error == ETHOSU_EXT_E_NONE_FREE) {
            fault.found = timeout; // not its last slice
        }
        binding_raise_fault(&fault);
    }
}

npu_obj_t *npu_reserved(mp_obj_t self_in)
{
    npu_obj_t *self = MP_OBJ_TO_PTR(self_in);
    if (self->npu == NULL) {
        binding_raise_os_error(MP_EPERM, "this NPU was released: call ethosu.reserve() again");
    }
    return self;
}

/** npus(): the configs of the board's NPUs, "ethos-u55-128". */
static mp_obj_t list_npus(void)
{
    mp_obj_t list = mp_obj_new_list(0, NULL);
    for (size_t i = 0; i < npu_count(); i++) {
        if (binding_npus[i].ready) {
            char name[ETHOSU_EXT_CONFIG_NAME_SIZE];
            ethosu_ext_config_name(ethosu_ext_config(&binding_npus[i].driver), name);
            mp_obj_list_append(list, mp_obj_new_str(name, strlen(name)));
        }
    }
    return list;
}
MP_DEFINE_CONST_FUN_OBJ_0(npus_obj, list_npus);
