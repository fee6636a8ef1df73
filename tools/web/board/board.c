// SPDX-License-Identifier: MIT
/** A board that is a WebAssembly instance: its memories, and what the firmware asks of a board. */
#include "board.h"

#include <emscripten/stack.h>

#include "cpu.h"
#include "ethosu_board.h"
#include "fault.h"
#include "host.h"
#include "npu.h"
#include "py/gc.h"
#include "shared/runtime/softtimer.h"
#include "startup.h"

static const struct ethosu_memory memories[] = {
    {"memory", (void *)0x400u, (void *)WEB_MEMORY_SIZE, .masters = ETHOSU_MASTERS_ALL,
     .cache = ETHOSU_CACHE_NONE},
};

static const struct ethosu_npu npus[WEB_NPUS] = {
    {.base = (uintptr_t)&web_npus[0], .irq = WEB_NPU_IRQ, .secure = true, .privileged = true},
    {.base = (uintptr_t)&web_npus[1], .irq = WEB_NPU_IRQ + 1, .secure = true, .privileged = true},
};

const struct ethosu_board ethosu_board = {
    .name = BOARD_NAME,
    .memories = memories,
    .memory_count = sizeof memories / sizeof memories[0],
    .npus = npus,
    .npu_count = WEB_NPUS,
};

const struct nvm board_nvm = {.write = nvm_write_plain};

uint32_t board_wall_clock(void)
{
    return (uint32_t)host_epoch();
}

const uint8_t *board_unique_id(size_t *size)
{
    static const uint8_t id[] = {'W', 'E', 'B'};
    *size = sizeof id;
    return id;
}

/* ---- what a Cortex-M has in fault.c and startup.c ---- */

const char *startup_table_fault(void)
{
    return NULL;
}

enum reset_cause startup_reset_cause(void)
{
    return (enum reset_cause)host_reset_cause();
}

_Noreturn void startup_reset(enum reset_cause cause)
{
    host_reset((uint32_t)cause);
}

bool fault_guarded_read(const volatile uint32_t *address, uint32_t *value)
{
    *value = *address;
    return true;
}

_Noreturn void fault_panic(const char *reason)
{
    console_alarm("\r\nfault: ");
    console_alarm(reason);
    console_alarm("\r\n");
    startup_reset(RESET_FAULT);
}

/* ---- start and collection ---- */

/** Called by `start` in memory.S, which is what the instance exports. */
void web_start(void);
void web_start(void)
{
    npu_start();
    firmware_main();
}

/** All pointers are on this stack: the build moves them there (wasm-opt --spill-pointers). */
void gc_collect(void)
{
    gc_collect_start();
    void **sp = (void **)emscripten_stack_get_current();
    gc_collect_root(sp, (size_t)((void **)_stack_top - sp));
    soft_timer_gc_mark_all();
    gc_collect_end();
}
