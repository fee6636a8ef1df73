// SPDX-License-Identifier: MIT
/**
 * A DMA controller to copy to dma/dma_NAME.c: SOURCE, DESTINATION and SIZE in bytes; a store to
 * START copies; STATUS says how it ended, and a store to it ends the interrupt. Name here the
 * source of registers and bits.
 */
#include <string.h>

#include "base/qemu_api.h"
#include "board/machine.h"
#include "cpu/cache.h"
#include "dma/dma_kind.h"

enum dma_register { SOURCE, DESTINATION, SIZE, START, STATUS, REGISTER_COUNT };
enum status { BUSY = 1 << 0, DONE = 1 << 1, FAILED = 1 << 2 };

static struct {
    qemu_irq irq;
    uint32_t registers[REGISTER_COUNT];
    uint64_t instructions_at_start;
    struct virtual_timer timer;
} dma;

/** End of the transfer time: copy the data, or fail. */
static void complete(void *context)
{
    (void)context;
    const uint32_t size = dma.registers[SIZE];
    const uint8_t *from = cache_map(MASTER_DMA, dma.registers[SOURCE], size, false);
    uint8_t *to = cache_map(MASTER_DMA, dma.registers[DESTINATION], size, true);
    const bool refused = !from || !to || dma_fault_due(DMA_BUS_ERROR);
    const bool aborted = !refused && dma_fault_due(DMA_ABORT);
    if (!refused) {
        memmove(to, from, aborted ? size / 2 : size);
    }
    dma_note_end(dma.instructions_at_start);
    dma.registers[STATUS] = refused || aborted ? FAILED : DONE;
    qemu_set_irq(dma.irq, !dma_fault_due(DMA_IRQ_LOST));
}

static void start(void)
{
    dma.registers[STATUS] = BUSY;
    dma.instructions_at_start = dma_note_start();
    if (!dma_fault_due(DMA_HANG)) {
        virtual_timer_set(&dma.timer, dma_due_time(dma.registers[SIZE] / 4 + 1));
    }
}

static uint32_t read_register(void *context, uint32_t offset)
{
    (void)context;
    return offset / 4 < REGISTER_COUNT ? dma.registers[offset / 4] : 0;
}

static void write_register(void *context, uint32_t offset, uint32_t value)
{
    (void)context;
    const uint32_t number = offset / 4;
    if (number == STATUS) {
        qemu_set_irq(dma.irq, 0);
    } else if (number == START && !(dma.registers[STATUS] & BUSY)) {
        start();
    } else if (number < START) {
        dma.registers[number] = value;
    }
}

static void create(const struct dma_slot *slot)
{
    dma.irq = machine_irq(slot->irq);
    virtual_timer_create(&dma.timer, complete, NULL);
}

static void reset(void)
{
    virtual_timer_stop(&dma.timer);
    memset(dma.registers, 0, sizeof dma.registers);
    qemu_set_irq(dma.irq, 0);
}

const struct dma_operations dma_template = {
    .create = create,
    .reset = reset,
    .window_size = 0x1000,
    .read = read_register,
    .write = write_register,
};
