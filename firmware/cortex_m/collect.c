// SPDX-License-Identifier: MIT
/** Roots of the garbage collector: the registers and the stack of a Cortex-M. */
#include "py/gc.h"
#include "shared/runtime/softtimer.h"
#include "startup.h"

void gc_collect(void)
{
    gc_collect_start();
    __builtin_unwind_init(); // puts the callee-saved registers on the stack
    void **top = (void **)_stack_top;
    void **sp;
    __asm volatile("mov %0, sp" : "=r"(sp));
    gc_collect_root(sp, (size_t)(top - sp));
    soft_timer_gc_mark_all();
    gc_collect_end();
}
