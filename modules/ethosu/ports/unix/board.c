// SPDX-License-Identifier: MIT
/**
 * The board that the unix port is: one simulated Ethos-U55, which sees Python's
 * heap. Its interrupt comes as soon as it is started.
 */
#include "ethosu_board.h"

#include "npu_sim.h"
#include "py/mpstate.h"
#include "sim_host_io.h"

#include <time.h>

/** Where the NPU sees the heap: a process has addresses that are too wide for it. */
#define NPU_HEAP 0x10000000u

/** Its registers are no memory: the driver's functions get this address. */
static uint32_t registers;

/** Known when MicroPython has its heap. */
static struct ethosu_memory heap = {
    .name = "heap",
    .npu_address = NPU_HEAP,
    .masters = ETHOSU_MASTERS_ALL,
    .cache = ETHOSU_CACHE_NONE,
};

static const struct ethosu_npu npu = {
    .base = (uintptr_t)&registers,
    .secure = true,
    .privileged = true,
};

const struct ethosu_board ethosu_board = {
    .name = "unix",
    .memories = &heap,
    .memory_count = 1,
    .npus = &npu,
    .npu_count = 1,
};

/* ---- the NPU ---- */

static npu_t *sim;
static bool line; /**< level of its interrupt */
static void (*interrupt)(void *argument);
static void *interrupt_argument;

static uint8_t *map(void *context, const struct npu_access *access)
{
    (void)context;
    const uint64_t size = (uintptr_t)heap.end - (uintptr_t)heap.start;
    const uint64_t at = access->address - NPU_HEAP;
    bool inside = at <= size && access->length <= size - at;
    return inside ? (uint8_t *)(uintptr_t)heap.start + at : NULL;
}

static void set_line(void *context, bool level)
{
    (void)context;
    line = level;
}

bool ethosu_ext_board_npu_present(size_t index)
{
    if (index == 0 && sim == NULL) {
        heap.start = MP_STATE_MEM(area).gc_pool_start;
        heap.end = MP_STATE_MEM(area).gc_pool_end;
        sim = npu_create("ethos-u55-128", &(struct npu_bus){.map = map, .irq = set_line});
    }
    return index == 0 && sim != NULL;
}

/** Work to the end; the driver's handler takes the line back. */
static void work(void)
{
    enum npu_outcome outcome;
    do {
        outcome = npu_execute(sim, 0);
        npu_finish(sim);
        if (line && interrupt != NULL) {
            interrupt(interrupt_argument);
        }
    } while (outcome == NPU_OUTCOME_IRQ);
}

uint32_t sim_host_read(volatile struct NPU_REG *reg, uint32_t offset)
{
    (void)reg;
    return npu_read(sim, offset);
}

void sim_host_write(volatile struct NPU_REG *reg, uint32_t offset, uint32_t value)
{
    (void)reg;
    if (npu_write(sim, offset, value) == NPU_ACTION_EXECUTE) {
        work();
    }
}

void sim_host_barrier(void)
{
}

void ethosu_ext_board_irq_connect(size_t index, void (*handler)(void *argument), void *argument)
{
    (void)index;
    interrupt = handler;
    interrupt_argument = argument;
}

void ethosu_ext_board_irq_disconnect(size_t index)
{
    ethosu_ext_board_irq_connect(index, NULL, NULL);
}

/* ---- time ---- */

uint32_t ethosu_ext_board_ticks_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint32_t)(now.tv_sec * 1000 + now.tv_nsec / 1000000);
}

void ethosu_ext_board_idle(const volatile uint32_t *flag)
{
    if (*flag == 0) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}
