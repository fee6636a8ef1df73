// SPDX-License-Identifier: MIT
/**
 * Copies with channel 0 of a DataWire controller (DW) of Infineon's chips, one descriptor at a
 * time. Registers: cyip_dw.h and cy_dma.h of Infineon's peripheral library.
 *
 * A descriptor copies rows of up to 256 units, a unit at most a word. The controller accesses
 * memory with the rights of the core that wrote the channel's control register.
 */
#include "dma_controller.h"
#include "ethosu_memory.h"
#include "fault.h"
#include "irq.h"

struct channel {
    volatile uint32_t control;
    volatile uint32_t status;
    volatile uint32_t index;
    volatile uint32_t descriptor;
    volatile uint32_t interrupt;
    volatile uint32_t interrupt_set;
    volatile uint32_t interrupt_mask;
    volatile uint32_t interrupt_masked;
    volatile uint32_t data[2];
    volatile uint32_t trigger;
};

struct controller {
    volatile uint32_t control;
    uint32_t unused[0x1FFF];
    struct channel channel; /**< the first one */
};

_Static_assert(offsetof(struct controller, channel) == 0x8000, "CH_STRUCT");
_Static_assert(offsetof(struct channel, trigger) == 0x28, "TR_CMD");

/** In memory, one that copies rows; it fills a cache line. */
struct descriptor {
    uint32_t control;
    uint32_t source;
    uint32_t destination;
    uint32_t row;  /**< of units */
    uint32_t rows; /**< of rows */
    uint32_t next; /**< 0: the last one */
    uint32_t unused[2];
};

#define ENABLED (1u << 31) /**< of the controller, and of a channel */
enum { CAUSE_MASK = 0xF, CAUSE_DONE = 1 };
#define COUNT_MAX 256u /**< of units in a row, and of rows */

/** The descriptor's end is signalled, and one trigger starts all of it; then the channel is off. */
#define CONTROL(shift) (2u << 2 | 2u << 6 | 1u << 24 | (uint32_t)(shift) << 28 | 2u << 30)
/** Both ends step by so many units. */
#define LOOP(step, count) ((step) | (step) << 12 | ((count) - 1u) << 24)

static struct descriptor descriptor DMA_SHARED;
static const struct ethosu_memory *descriptor_memory;

static struct controller *controller(void)
{
    return (struct controller *)dma_board.base;
}

/** Units of 1 << shift bytes; the destination is cache-line aligned, the source arbitrary. */
static unsigned shift_for(uintptr_t source)
{
    return source % 4 == 0 ? 2 : source % 2 == 0 ? 1 : 0;
}

/** Describe the next rows, and subtract them from `rest`. */
static void describe(struct dma_transfer *rest)
{
    const unsigned shift = shift_for(rest->from);
    const size_t units = rest->size >> shift;
    const uint32_t row = units < COUNT_MAX ? (uint32_t)units : COUNT_MAX;
    const uint32_t rows = units / row < COUNT_MAX ? (uint32_t)(units / row) : COUNT_MAX;
    const size_t size = (size_t)row * rows << shift;
    descriptor = (struct descriptor){.control = CONTROL(shift),
                                     .source = (uint32_t)rest->from,
                                     .destination = (uint32_t)rest->to,
                                     .row = LOOP(1u, row),
                                     .rows = LOOP(row, rows)};
    *rest = (struct dma_transfer){rest->to + size, rest->from + size, rest->size - size};
    ethosu_ext_memory_clean_in(descriptor_memory, &descriptor, sizeof descriptor);
}

bool dma_controller_start(struct dma_transfer *rest)
{
    struct channel *const to = &controller()->channel;
    if (to->control & ENABLED) {
        return false;
    }
    describe(rest);
    to->descriptor = (uint32_t)dma_copy_bus_address(descriptor_memory, &descriptor);
    to->index = 0;
    to->interrupt = 1;
    ethosu_ext_memory_barrier(); // complete writes that the controller reads
    to->control = ENABLED;
    to->trigger = 1;
    return true;
}

/** Switching the controller off resets a transfer under way. */
void dma_controller_halt(void)
{
    controller()->channel.control = 0;
    controller()->control = 0;
    controller()->control = ENABLED;
    controller()->channel.interrupt = 1;
}

static void on_interrupt(void *unused)
{
    const uint32_t cause = controller()->channel.status & CAUSE_MASK;
    controller()->channel.interrupt = 1;
    if (cause != CAUSE_DONE) {
        dma_controller_halt(); // whether an error disables the channel is not documented
    }
    if (cause != 0) {
        dma_copy_ended(cause != CAUSE_DONE);
    }
}

bool dma_controller_prepare(void)
{
    uint32_t control;
    descriptor_memory = dma_copy_memory(&descriptor, sizeof descriptor, ETHOSU_DMA_READS);
    if (descriptor_memory == NULL || !fault_guarded_read(&controller()->control, &control)) {
        return false;
    }
    controller()->control = ENABLED;
    if (!(controller()->control & ENABLED)) {
        return false;
    }
    controller()->channel.control = 0;
    controller()->channel.interrupt = 1;
    controller()->channel.interrupt_mask = 1;
    irq_connect(dma_board.irq, on_interrupt, NULL);
    return true;
}
