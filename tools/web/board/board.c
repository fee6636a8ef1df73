// SPDX-License-Identifier: MIT
/** A board that is a WebAssembly instance: its memories and the board functions of the firmware. */
#include "board.h"

#include <emscripten/stack.h>

#include "cpu.h"
#include "ethosu_board.h"
#include "fault.h"
#include "host.h"
#include "py/gc.h"
#include "shared/runtime/softtimer.h"
#include "sim_host_internal.h"
#include "sim_host_io.h"
#include "startup.h"

static const struct ethosu_memory memories[] = {
    {"memory", (void *)0x400u, (void *)WEB_MEMORY_SIZE, .masters = ETHOSU_MASTERS_ALL,
     .cache = ETHOSU_CACHE_NONE},
};

static const struct ethosu_npu npus[SIM_HOST_NPU_COUNT] = {
    {.base = (uintptr_t)&sim_host_npus[0], .irq = 0, .secure = true, .privileged = true},
    {.base = (uintptr_t)&sim_host_npus[1], .irq = 1, .secure = true, .privileged = true},
};

const struct ethosu_board ethosu_board = {
    .name = BOARD_NAME,
    .memories = memories,
    .memory_count = sizeof memories / sizeof memories[0],
    .npus = npus,
    .npu_count = SIM_HOST_NPU_COUNT,
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

/* ---- functions that a Cortex-M board has in fault.c and startup.c ---- */

const char *startup_table_fault(void)
{
    return NULL;
}

/** The memory of WebAssembly begins as zeros. */
struct stack_mark startup_main_stack(void)
{
    return stack_mark_find(_stack_limit, _stack_top, 0);
}

/** Handlers are called on the stack of the program. */
struct stack_mark startup_handler_stack(void)
{
    return (struct stack_mark){0};
}

enum reset_cause startup_reset_cause(void)
{
    return (enum reset_cause)host_reset_cause();
}

_Noreturn void startup_reset(enum reset_cause cause)
{
    host_reset((uint32_t)cause);
}

/** The address is an NPU's first register, or memory. */
bool fault_guarded_read(const volatile uint32_t *address, uint32_t *value)
{
    for (unsigned i = 0; i < SIM_HOST_NPU_COUNT; i++) {
        if ((uintptr_t)address == npus[i].base) {
            *value = sim_host_read(&sim_host_npus[i], 0);
            return true;
        }
    }
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

/* ---- NPUs of tools/sim_host; these functions replace its bus.c, cache.c, irq.c and log.c ---- */

/** The first KiB is unused, so that a null pointer with an offset is a bus error. */
#define BUS_START 1024u

/** Linear memory is the bus, at the CPU's addresses. */
uint8_t *sim_host_map(const struct npu_access *access)
{
    uint64_t end = (uint64_t)__builtin_wasm_memory_size(0) << 16;
    bool inside = access->address >= BUS_START && access->address <= end &&
                  access->length <= end - access->address;
    return inside ? (uint8_t *)(uintptr_t)access->address : NULL;
}

void sim_host_cache_event(void)
{
}

void sim_host_barrier(void)
{
}

void sim_host_print(const char *line)
{
    (void)line; // the driver's error is sufficient for programs
}

static void pend(void *argument)
{
    core_pend((uint32_t)((struct NPU_REG *)argument - sim_host_npus));
}

/** Create the simulators that the page requests. */
static void start_npus(void)
{
    struct npu_memory timed_with[NPU_MEMORIES] = {0};
    uint32_t count = host_memories(timed_with, NPU_MEMORIES);
    for (unsigned i = 0; i < SIM_HOST_NPU_COUNT; i++) {
        char config[32];
        size_t size = host_npu(i, config, sizeof config - 1);
        config[size] = '\0';
        if (size != 0 && sim_host_create(i, config)) {
            sim_host_npus[i].stepped = true;
            sim_host_connect(i, pend, &sim_host_npus[i]);
            (void)sim_host_memories(i, timed_with, count);
        }
    }
}

/* ---- start and collection ---- */

/** Called by `start` in memory.S, which the instance exports. */
void web_start(void);
void web_start(void)
{
    start_npus();
    firmware_main();
}

/** All pointers are on this stack, because the build spills them (wasm-opt --spill-pointers). */
void gc_collect(void)
{
    gc_collect_start();
    void **sp = (void **)emscripten_stack_get_current();
    gc_collect_root(sp, (size_t)((void **)_stack_top - sp));
    soft_timer_gc_mark_all();
    gc_collect_end();
}
