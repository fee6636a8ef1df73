// SPDX-License-Identifier: MIT
/** The board's DMA controller: selection of its kind, and code shared by all kinds. */
#include "dma/dma_device.h"

#include <stddef.h>
#include <string.h>

#include "board/board.h"
#include "memory/board_power.h"
#include "cpu/cache.h"
#include "base/callbacks.h"
#include "dma/dma_kind.h"
#include "board/machine.h"
#include "base/message.h"
#include "base/qemu_api.h"

/** Clock of AN547's buses, and cycles for one read and one write. */
#define BUS_HZ 32000000u
#define CYCLES_PER_UNIT 2u

static const struct dma_operations *const kinds[] = {
#define DMA_KIND(KIND, name) [DMA_##KIND] = &dma_##name,
#include "dma/dma_kinds.def"
#undef DMA_KIND
};

static struct {
    const struct dma_operations *kind; /**< NULL if the board has none */
    unsigned due[DMA_FAULT_COUNT];     /**< remaining number of times for each fault */
    struct dma_run_record last_run;
} dma;

static const char *const names[DMA_FAULT_COUNT] = {
    [DMA_BUS_ERROR] = "bus-error",
    [DMA_ABORT] = "abort",
    [DMA_IRQ_LOST] = "irq-lost",
    [DMA_HANG] = "hang",
};

bool dma_fault_due(enum dma_fault fault)
{
    if (dma.due[fault] == 0) {
        return false;
    }
    dma.due[fault]--;
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
    dma.last_run.instructions = callbacks_counted() - instructions_at_start;
    dma.last_run.idle = all_cpu_threads_idle();
}

int64_t dma_due_time(uint64_t units)
{
    const uint32_t hz = board()->chip ? board()->chip->clock_hz : BUS_HZ;
    return qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) + board_power_settle() +
           (int64_t)(units * CYCLES_PER_UNIT * 1000000000u / hz);
}

void dma_device_create(const struct dma_slot *slot)
{
    dma.kind = kinds[slot->kind];
    dma.kind->create(slot);
    machine_map(&(struct machine_window){.name = "dma",
                                         .base = slot->base,
                                         .size = dma.kind->window_size,
                                         .read = dma.kind->read,
                                         .write = dma.kind->write,
                                         .gate = &slot->gate,
                                         .protection = &slot->protection},
                NULL);
}

void dma_device_reset(void)
{
    if (dma.kind) {
        dma.kind->reset();
    }
}

bool dma_device_inject(const char *fault, unsigned count)
{
    for (size_t i = 0; i < DMA_FAULT_COUNT; i++) {
        if (dma.kind && strcmp(names[i], fault) == 0) {
            dma.due[i] = count;
            return true;
        }
    }
    return false;
}

const struct dma_run_record *dma_device_last_run(void)
{
    return &dma.last_run;
}
