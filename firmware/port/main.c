// SPDX-License-Identifier: MIT
/** From a running core to the Python prompt, and round again at each soft reset. */
#include "clock.h"
#include "console.h"
#include "fault.h"
#include "firmware.h"
#include "py/compile.h"
#include "py/cstack.h"
#include "py/gc.h"
#include "py/runtime.h"
#include "shared/readline/readline.h"
#include "shared/runtime/pyexec.h"
#include "shared/runtime/softtimer.h"
#include "startup.h"

/**
 * Left free below MicroPython's own stack limit, for C functions that do not check it. The deepest
 * of them, those of LittleFS, take 1,784 bytes; an interrupt adds up to 212.
 */
#define STACK_RESERVE 3072u

/** Left free above that limit for the compiler: enough for 90 levels of indentation. */
#define COMPILER_STACK 2048u

/** Supplied by modules/ethosu when it is built in: stops the NPUs and drops their jobs. */
extern void ethosu_deinit_all(void) __attribute__((weak));

void firmware_stop_devices(void)
{
    if (ethosu_deinit_all) {
        ethosu_deinit_all();
    }
}

/** Run boot.py and main.py; false if one of them requested a soft reset. */
static bool run_user_scripts(void)
{
    if (pyexec_file_if_exists("boot.py") & PYEXEC_FORCED_EXIT) {
        return false;
    }
    if (pyexec_mode_kind == PYEXEC_MODE_FRIENDLY_REPL) {
        return (pyexec_file_if_exists("main.py") & PYEXEC_FORCED_EXIT) == 0;
    }
    return true;
}

static void run_repl(void)
{
    int forced_exit;
    do {
        if (pyexec_mode_kind == PYEXEC_MODE_RAW_REPL) {
            forced_exit = pyexec_raw_repl();
        } else {
            forced_exit = pyexec_friendly_repl();
        }
    } while (!forced_exit);
}

_Noreturn void firmware_main(void)
{
    clock_start();
    console_start();
    if (startup_table_fault() != NULL) {
        fault_panic(startup_table_fault());
    }
    mp_cstack_init_with_top(_stack_top,
                            (size_t)((char *)_stack_top - (char *)_stack_limit) - STACK_RESERVE);
    gc_init(_gc_heap_start, _gc_heap_end);
    // A script that crashes the board must not do so at every start.
    bool safe_mode = startup_reset_cause() == RESET_FAULT;
    for (;;) {
        romfs_start();
        // What the last program scheduled would keep objects of the next one that happen to be
        // there.
        memset(MP_STATE_VM(sched_queue), 0, sizeof MP_STATE_VM(sched_queue));
        mp_init();
        readline_init0();
        pyexec_frozen_module("_boot.py", false);
        if (safe_mode || run_user_scripts()) {
            run_repl();
        }
        safe_mode = false;
        mp_printf(&mp_plat_print, "MPY: soft reboot\n");
        firmware_stop_devices();
        soft_timer_deinit();
        gc_sweep_all();
        mp_deinit();
    }
}

// The wrapper that MicroPython calls, and the original function (--wrap).
bool __wrap_mp_seq_cmp_objs(mp_uint_t op, const mp_obj_t *items, size_t count,
                            const mp_obj_t *others, size_t other_count);
bool __real_mp_seq_cmp_objs(mp_uint_t op, const mp_obj_t *items, size_t count,
                            const mp_obj_t *others, size_t other_count);

/** Compares lists or tuples, and so those in them: MicroPython does not check the stack here. */
bool __wrap_mp_seq_cmp_objs(mp_uint_t op, const mp_obj_t *items, size_t count,
                            const mp_obj_t *others, size_t other_count)
{
    mp_cstack_check();
    return __real_mp_seq_cmp_objs(op, items, count, others, other_count);
}

mp_obj_t __wrap_mp_compile(mp_parse_tree_t *tree, qstr file, bool is_repl);
mp_obj_t __real_mp_compile(mp_parse_tree_t *tree, qstr file, bool is_repl);

/** Nor does it in the compiler, which takes 40 bytes for each level of indentation. */
mp_obj_t __wrap_mp_compile(mp_parse_tree_t *tree, qstr file, bool is_repl)
{
    if (mp_cstack_usage() + COMPILER_STACK > MP_STATE_THREAD(stack_limit)) {
        mp_parse_tree_clear(tree);
        mp_raise_recursion_depth();
    }
    return __real_mp_compile(tree, file, is_repl);
}

_Noreturn void nlr_jump_fail(void *value)
{
    fault_panic("uncaught Python exception");
}

// The wrapper that MicroPython calls, and the original function (--wrap).
_Noreturn void __wrap_nlr_jump(void *value);
_Noreturn void __real_nlr_jump(void *value);

/**
 * Raise an exception. If Ctrl-C arrives while asyncio's loop records the end of a
 * task, the task has no result, and awaiting it raises None, which would crash.
 */
_Noreturn void __wrap_nlr_jump(void *value)
{
    if (value == MP_OBJ_TO_PTR(mp_const_none)) {
        mp_obj_t error = mp_obj_new_exception_msg(
            &mp_type_RuntimeError, MP_ERROR_TEXT("Ctrl-C lost the result of this task"));
        value = MP_OBJ_TO_PTR(error);
    }
    __real_nlr_jump(value);
}
