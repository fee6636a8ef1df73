// SPDX-License-Identifier: MIT
/**
 * The board that the unix port is: an Ethos-U55 of tools/sim_host, which sees Python's heap. Its
 * interrupt comes as soon as it is started.
 */
#include "py/mpstate.h"
#include "sim_host_internal.h"

#include <time.h>

/** NPU address of the heap; the addresses of a process are too wide for the NPU. */
#define NPU_HEAP 0x10000000u

/** Completed once MicroPython has its heap. */
static struct ethosu_memory heap = {
    .name = "heap",
    .npu_address = NPU_HEAP,
    .masters = ETHOSU_MASTERS_ALL,
    .cache = ETHOSU_CACHE_NONE,
};

static const struct ethosu_npu npu = {
    .base = (uintptr_t)&sim_host_npus[0],
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

/** Replaces tools/sim_host/bus.c. */
uint8_t *sim_host_map(const struct npu_access *access)
{
    const uint64_t size = (uintptr_t)heap.end - (uintptr_t)heap.start;
    const uint64_t at = access->address - NPU_HEAP;
    bool inside = at <= size && access->length <= size - at;
    return inside ? (uint8_t *)(uintptr_t)heap.start + at : NULL;
}

bool ethosu_ext_board_npu_present(size_t index)
{
    if (index == 0 && sim_host_npus[0].sim == NULL) {
        heap.start = MP_STATE_MEM(area).gc_pool_start;
        heap.end = MP_STATE_MEM(area).gc_pool_end;
        (void)sim_host_create(0, "ethos-u55-128");
    }
    return index == 0 && sim_host_npus[0].sim != NULL;
}

/* ---- real time, in the place of tools/sim_host/clock.c ---- */

uint32_t ethosu_ext_board_ticks_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint32_t)(now.tv_sec * 1000 + now.tv_nsec / 1000000);
}

void ethosu_ext_board_idle(const volatile uint32_t *flag, uint64_t at_most_ms)
{
    (void)at_most_ms;
    if (*flag == 0) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}
