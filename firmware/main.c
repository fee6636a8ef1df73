// SPDX-License-Identifier: MIT
/** From a running core to the Python prompt, and round again at each soft reset. */
#include "clock.h"
#include "console.h"
#include "fault.h"
#include "firmware.h"
#include "py/cstack.h"
#include "py/gc.h"
#include "py/runtime.h"
#include "shared/readline/readline.h"
#include "shared/runtime/pyexec.h"
#include "shared/runtime/softtimer.h"
#include "startup.h"

/** Left free below MicroPython's own stack limit, for C functions that do not check it. */
#define STACK_RESERVE 4096u

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
