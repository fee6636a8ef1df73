// SPDX-License-Identifier: MIT
/** See dma_run.h. */
#include "dma/dma_run.h"

#include <stddef.h>
#include <string.h>

#include "base/callbacks.h"
#include "base/message.h"
#include "base/qemu_api.h"
#include "board/board.h"
#include "cpu/cache.h"
#include "memory/board_power.h"

/** Clock of AN547's buses, and cycles for one read and one write. */
#define BUS_HZ 32000000u
#define CYCLES_PER_UNIT 2u

/** Remaining number of times for each fault. */
static unsigned due[DMA_FAULT_COUNT];
static struct dma_run_record last_run;

static const char *const names[DMA_FAULT_COUNT] = {
    [DMA_BUS_ERROR] = "bus-error",
    [DMA_ABORT] = "abort",
    [DMA_IRQ_LOST] = "irq-lost",
    [DMA_HANG] = "hang",
};

bool dma_fault_due(enum dma_fault fault)
{
    if (due[fault] == 0) {
        return false;
    }
    due[fault]--;
    message(MESSAGE_GUEST_ERROR, "dma: injected fault %s", names[fault]);
    return true;
}

uint64_t dma_note_start(void)
{
    cache_barrier();
    return callbacks_counted();
}

void dma_note_end(uint64_t instructions_at_start)
{
    last_run.instructions = callbacks_counted() - instructions_at_start;
    last_run.idle = all_cpu_threads_idle();
}

int64_t dma_due_time(uint64_t units)
{
    const uint32_t hz = board()->chip ? board()->chip->clock_hz : BUS_HZ;
    return qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) + board_power_settle() +
           (int64_t)(units * CYCLES_PER_UNIT * 1000000000u / hz);
}

bool dma_run_inject(const char *fault, unsigned count)
{
    for (size_t i = 0; i < DMA_FAULT_COUNT; i++) {
        if (strcmp(names[i], fault) == 0) {
            due[i] = count;
            return true;
        }
    }
    return false;
}

const struct dma_run_record *dma_run_last(void)
{
    return &last_run;
}
