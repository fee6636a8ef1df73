// SPDX-License-Identifier: MIT
/**
 * Copies with channel 0 of an Arm CoreLink DMA-350 (Arm 102482), one command at
 * a time. If a copy does not fit in a command, the rest follows when it ends.
 */
#include "dma_controller.h"
#include "ethosu_memory.h"
#include "fault.h"
#include "irq.h"

struct channel {
    volatile uint32_t command;
    volatile uint32_t status;
    volatile uint32_t interrupts;
    volatile uint32_t control;
    volatile uint32_t source;
    volatile uint32_t source_high;
    volatile uint32_t destination;
    volatile uint32_t destination_high;
    volatile uint32_t size; /**< units: source in bits 15 to 0, destination in bits 31 to 16 */
    volatile uint32_t size_high;
    volatile uint32_t source_transfer;
    volatile uint32_t destination_transfer;
    volatile uint32_t step;
    uint32_t reserved_34[16];
    volatile uint32_t automatic;
    volatile uint32_t link;
    volatile uint32_t link_high;
    uint32_t reserved_80[30];
    volatile uint32_t build[2];
};

_Static_assert(offsetof(struct channel, step) == 0x30, "CH_XADDRINC");
_Static_assert(offsetof(struct channel, automatic) == 0x74, "CH_AUTOCFG");
_Static_assert(offsetof(struct channel, build) == 0xF8, "CH_BUILDCFG0");

#define CHANNEL 0x1000u    /**< offset of channel 0 */
#define IDENTITY 0xFC8u    /**< offset of IIDR */
#define PRODUCT 0x3A0u     /**< in bits 31 to 20 of IIDR */
#define IMPLEMENTER 0x43Bu /**< Arm, in bits 11 to 0 */

enum command { ENABLE = 1 << 0, STOP = 1 << 3 };
enum status { DONE = 1 << 16, ERROR = 1 << 17, DISABLED = 1 << 18, STOPPED = 1 << 19 };
enum interrupt { INTERRUPT_DONE = 1 << 0, INTERRUPT_ERROR = 1 << 1 };

#define STATUS_ALL ((uint32_t)(DONE | ERROR | DISABLED | STOPPED))
/** Consecutive units; only the end of the command is signalled. */
#define CONTROL(shift) ((uint32_t)(shift) | 1u << 9 | 1u << 21)
/** Bursts of 16, privileged, secure, outer shareable, normal memory that is not cached. */
#define TRANSFER (15u << 16 | 1u << 11 | 2u << 8 | 0x44u)
#define STEP_ONE (1u | 1u << 16)
#define BOTH(units) ((units) | (units) << 16)

#define BUS_SHIFT(build) ((build) >> 22 & 7u) /**< a unit has at most the bus's width */
#define HAS_SIZE_HIGH 1u
#define UNITS_MAX 0xFFFFu

/** Looks at a register that changes within some cycles of the controller. */
#define TRIES 1000u

static struct channel *channel(void)
{
    return (struct channel *)(dma_board.base + CHANNEL);
}

/** Units of 1 << shift bytes, to which both ends are aligned. */
static unsigned shift_for(uintptr_t ends)
{
    const unsigned most = BUS_SHIFT(channel()->build[0]);
    unsigned shift = 0;
    while (shift < most && (ends >> shift & 1u) == 0) {
        shift++;
    }
    return shift;
}

/** Bytes of the next command, whole lines. */
static size_t part(const struct dma_transfer *rest, unsigned shift)
{
    const size_t most = ((size_t)UNITS_MAX << shift) / DMA_LINE * DMA_LINE;
    return rest->size <= most || (channel()->build[1] & HAS_SIZE_HIGH) ? rest->size : most;
}

bool dma_controller_start(struct dma_transfer *rest)
{
    const unsigned shift = shift_for(rest->to | rest->from | DMA_LINE);
    const size_t size = part(rest, shift);
    const uint32_t units = (uint32_t)(size >> shift);
    struct channel *const to = channel();
    if (to->command & ENABLE) {
        return false;
    }
    to->status = STATUS_ALL;
    to->interrupts = INTERRUPT_DONE | INTERRUPT_ERROR;
    to->control = CONTROL(shift);
    to->source = (uint32_t)rest->from;
    to->destination = (uint32_t)rest->to;
    to->size = BOTH(units & UNITS_MAX);
    to->size_high = BOTH(units >> 16);
    to->source_transfer = TRANSFER;
    to->destination_transfer = TRANSFER;
    to->step = STEP_ONE;
    *rest = (struct dma_transfer){rest->to + size, rest->from + size, rest->size - size};
    ethosu_ext_memory_barrier(); // complete writes that the controller reads
    to->command = ENABLE;
    return true;
}

void dma_controller_halt(void)
{
    channel()->command = STOP;
    for (unsigned i = 0; i < TRIES && channel()->command & ENABLE; i++) {
    }
    channel()->status = STATUS_ALL;
}

static void on_interrupt(void *unused)
{
    const uint32_t status = channel()->status & STATUS_ALL;
    channel()->status = status;
    if (status != 0) {
        dma_copy_ended(status != DONE);
    }
}

bool dma_controller_prepare(void)
{
    uint32_t identity;
    if (!fault_guarded_read((const volatile uint32_t *)(dma_board.base + IDENTITY), &identity) ||
        identity >> 20 != PRODUCT || (identity & 0xFFFu) != IMPLEMENTER) {
        return false;
    }
    struct channel *const to = channel();
    to->source_high = 0;
    to->destination_high = 0;
    to->automatic = 0;
    to->link = 0;
    to->link_high = 0;
    irq_connect(dma_board.irq, on_interrupt, NULL);
    return true;
}
