// SPDX-License-Identifier: MIT
/**
 * NPUs of the native module, and the guards that release them.
 *
 * A guard is an object with a finaliser, which runs when its handle is collected and at a soft
 * reset. The table of functions that a native module may call can't allocate such an object. A
 * guard is therefore one that the firmware allocated and no longer needs, with its type replaced.
 * This works because the collector's mark belongs to the memory, not to the type.
 */
#include "py/dynruntime.h"

#include "binding/tensor/info.h"
#include "boards.h"
#include "ethosu_ext.h"
#include "driver/board/ethosu_io.h"
#include "driver/base/ethosu_registers.h"
#include "hooks.h"
#include "native_job.h"

/** Index of the guard that stops all NPUs. */
#define ALL_NPUS NATMOD_NPUS

struct guard {
    mp_obj_base_t base;
    uint8_t npu; /**< index */
    bool powered;
};

mp_obj_full_type_t guard_type;
mp_map_elem_t guard_table[1];
/**
 * The guard that holds each NPU, inverted, or 0; init() voids a reservation. The guard's finaliser
 * clears it. Not a pointer, because the collector scans this memory and would keep the guard.
 */
uintptr_t natmod_holders[NATMOD_NPUS];

/* ---- the NPU ---- */

static unsigned index_of(mp_obj_t index_in)
{
    mp_int_t index = mp_obj_get_int(index_in);
    if (index < 0 || index >= NATMOD_NPUS) {
        mp_raise_ValueError("at most four NPUs");
    }
    return (unsigned)index;
}

static void stop_all(void)
{
    for (unsigned i = 0; i < NATMOD_NPUS; i++) {
        (void)native_job_stop(&native_jobs[i]);
    }
}

/**
 * _use(index, board): before NPU `index` is opened, select a board; -1 keeps the current one. Jobs
 * are ended first, on the previous board. Returns the address of the board's first NPU.
 */
static mp_obj_t board_use(mp_obj_t index, mp_obj_t board_in)
{
    (void)index_of(index);
    size_t known = (size_t)mp_obj_get_int(board_in);
    const struct ethosu_board *board =
        known < known_board_count ? &known_boards[known].board : NULL;
    if (board != NULL) {
        stop_all();
    }
    if (board != NULL || natmod_board.name == NULL) {
        hooks_init(board);
    }
    return mp_obj_new_int_from_uint(board == NULL ? 0 : board->npus[0].base);
}
static MP_DEFINE_CONST_FUN_OBJ_2(board_use_obj, board_use);

/** Of each board its name, its NPU's config or None, flags of _open(), and what names its chip: a
 * list of tuples. */
static mp_obj_t board_names(void)
{
    mp_obj_t names = mp_obj_new_list(0, NULL);
    for (size_t i = 0; i < known_board_count; i++) {
        const char *npu = known_boards[i].npu;
        const struct ethosu_npu *slot = known_boards[i].board.npus;
        mp_obj_t row[] = {native_new_text(known_boards[i].board.name),
                          npu == NULL ? mp_const_none : native_new_text(npu),
                          MP_OBJ_NEW_SMALL_INT(slot->secure | slot->privileged << 1),
                          native_new_text(known_boards[i].machine)};
        mp_obj_list_append(names, mp_obj_new_tuple(MP_ARRAY_SIZE(row), row));
    }
    return names;
}

/** _open(index, address, flags): flags 1 secure, 2 privileged. The NPU is reset. */
static mp_obj_t npu_open(mp_obj_t index_in, mp_obj_t address, mp_obj_t flags_in)
{
    unsigned index = index_of(index_in);
    mp_int_t flags = mp_obj_get_int(flags_in);
    void *registers = (void *)mp_obj_get_int_truncated(address);
    if (natmod_ready[index]) {
        (void)native_job_stop(&native_jobs[index]);
        ethosu_deinit(&natmod_npus[index]);
    }
    natmod_holders[index] = 0;
    natmod_ready[index] =
        ethosu_init(&natmod_npus[index], registers, NULL, 0, flags & 1, flags >> 1 & 1) == 0;
    if (!natmod_ready[index]) {
        binding_raise_fault(ethosu_ext_last_error(&natmod_npus[index]));
    }
    char name[ETHOSU_EXT_CONFIG_NAME_SIZE];
    ethosu_ext_config_name(ethosu_ext_config(&natmod_npus[index]), name);
    return native_new_text(name);
}
static MP_DEFINE_CONST_FUN_OBJ_3(npu_open_obj, npu_open);

/** _is_running(index). Polls the interrupt. */
static mp_obj_t npu_running(mp_obj_t index)
{
    struct ethosu_driver *npu = native_npu_of(index);
    if (ethosu_io_read(npu->dev.reg, NPU_STATUS) & ETHOSU_EXT_STATUS_IRQ_RAISED) {
        ethosu_irq_handler(npu);
    }
    return mp_obj_new_bool(ethosu_ext_is_running(npu));
}
static MP_DEFINE_CONST_FUN_OBJ_1(npu_running_obj, npu_running);

/** _info(index): as NPU.info() */
static mp_obj_t npu_info(mp_obj_t index)
{
    return info_npu(native_npu_of(index));
}
static MP_DEFINE_CONST_FUN_OBJ_1(npu_info_obj, npu_info);

/* ---- guards ---- */

static bool is_held(const struct guard *guard)
{
    return natmod_holders[guard->npu] == ~(uintptr_t)guard;
}

unsigned native_guard_npu(mp_obj_t guard_in)
{
    struct guard *guard = MP_OBJ_TO_PTR(guard_in);
    if (guard_in == mp_const_false || !is_held(guard)) {
        binding_raise_os_error(ETHOSU_EXT_EPERM,
                               "this NPU was released: call ethosu.reserve() again");
    }
    return guard->npu;
}

/** Stop the job on its NPU and release the NPU. */
static void release(struct guard *guard)
{
    struct ethosu_driver *npu = &natmod_npus[guard->npu];
    if (is_held(guard)) {
        natmod_holders[guard->npu] = 0;
        (void)native_job_stop(&native_jobs[guard->npu]);
        if (guard->powered) {
            ethosu_release_power(npu);
        }
        ethosu_release_driver(npu);
    }
}

/** __del__(), which must not allocate. */
static mp_obj_t guard_delete(mp_obj_t self)
{
    struct guard *guard = MP_OBJ_TO_PTR(self);
    if (guard->npu == ALL_NPUS) {
        stop_all();
        hooks_deinit();
    } else {
        release(guard);
    }
    return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_1(guard_delete_obj, guard_delete);

/**
 * _guard(object, all): make a guard of an object that will be finalised: of all NPUs, or of the one
 * that it will reserve.
 */
static mp_obj_t guard_make(mp_obj_t object, mp_obj_t all)
{
    struct guard *guard = MP_OBJ_TO_PTR(object);
    *guard = (struct guard){.base = {(const mp_obj_type_t *)&guard_type},
                            .npu = mp_obj_is_true(all) ? ALL_NPUS : 0};
    return object;
}
static MP_DEFINE_CONST_FUN_OBJ_2(guard_make_obj, guard_make);

/** _reserve(guard, index, powered): False if others have the NPU. */
static mp_obj_t guard_reserve(mp_obj_t guard_in, mp_obj_t index, mp_obj_t powered_in)
{
    struct guard *guard = MP_OBJ_TO_PTR(guard_in);
    struct ethosu_driver *npu = native_npu_of(index);
    bool powered = mp_obj_is_true(powered_in);
    if (ethosu_ext_reserve_this(npu, 0) != 0) {
        native_job_unpin(&native_jobs[npu - natmod_npus]);
        return mp_const_false;
    }
    if (powered && ethosu_request_power(npu) != 0) {
        ethosu_release_driver(npu);
        binding_raise_fault(ethosu_ext_last_error(npu));
    }
    guard->npu = (uint8_t)(npu - natmod_npus);
    guard->powered = powered;
    natmod_holders[guard->npu] = ~(uintptr_t)guard;
    native_jobs[guard->npu].cancelled = false;
    return mp_const_true;
}
static MP_DEFINE_CONST_FUN_OBJ_3(guard_reserve_obj, guard_reserve);

/** _release(guard), or _release(False) of a released handle. A second call has no effect. */
static mp_obj_t guard_release(mp_obj_t guard)
{
    if (guard != mp_const_false) {
        release(MP_OBJ_TO_PTR(guard));
    }
    return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_1(guard_release_obj, guard_release);

/** _held(guard): index of the NPU. Raises OSError(EPERM). */
static mp_obj_t guard_held(mp_obj_t guard)
{
    return MP_OBJ_NEW_SMALL_INT(native_guard_npu(guard));
}
static MP_DEFINE_CONST_FUN_OBJ_1(guard_held_obj, guard_held);

static MP_DEFINE_CONST_DICT(guard_locals, guard_table);

void native_npu_register(void)
{
    guard_type.base.type = &mp_type_type;
    guard_type.name = MP_QSTR__guard;
    guard_table[0] =
        (mp_map_elem_t){MP_OBJ_NEW_QSTR(MP_QSTR___del__), MP_OBJ_FROM_PTR(&guard_delete_obj)};
    MP_OBJ_TYPE_SET_SLOT(&guard_type, locals_dict, (void *)&guard_locals, 0);
    mp_store_global(MP_QSTR__boards, board_names());
    mp_store_global(MP_QSTR__use, MP_OBJ_FROM_PTR(&board_use_obj));
    mp_store_global(MP_QSTR__open, MP_OBJ_FROM_PTR(&npu_open_obj));
    mp_store_global(MP_QSTR__is_running, MP_OBJ_FROM_PTR(&npu_running_obj));
    mp_store_global(MP_QSTR__info, MP_OBJ_FROM_PTR(&npu_info_obj));
    mp_store_global(MP_QSTR__guard, MP_OBJ_FROM_PTR(&guard_make_obj));
    mp_store_global(MP_QSTR__reserve, MP_OBJ_FROM_PTR(&guard_reserve_obj));
    mp_store_global(MP_QSTR__release, MP_OBJ_FROM_PTR(&guard_release_obj));
    mp_store_global(MP_QSTR__held, MP_OBJ_FROM_PTR(&guard_held_obj));
}
