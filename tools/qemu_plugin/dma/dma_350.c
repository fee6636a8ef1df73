// SPDX-License-Identifier: MIT
/**
 * An Arm CoreLink DMA-350 with two secure channels that each copy one block. The build has no
 * command links, wrapping, templates, triggers or sizes of more than 16 bits; commands that need
 * one of these end with a configuration error.
 *
 * Registers and bits: Linux's driver (drivers/dma/arm-dma350.c). The firmware's definitions are
 * those of the CMSIS-like headers that come with chips.
 */
#include <stddef.h>
#include <string.h>

#include "base/message.h"
#include "base/qemu_api.h"
#include "board/machine.h"
#include "cpu/cache.h"
#include "dma/dma_kind.h"

#define WINDOW_SIZE 0x2000u
#define CHANNEL_COUNT 2u
#define CHANNELS_BASE 0x1000u
#define CHANNEL_SIZE 0x100u
#define BUS_SHIFT 3u /**< 8 bytes */

enum information {
    BUILD_0 = 0xFB0,
    IDENTITY = 0xFC8,
};

enum channel_register {
    COMMAND = 0x00,
    STATUS = 0x04,
    INTERRUPTS = 0x08,
    CONTROL = 0x0C,
    SOURCE = 0x10,
    SOURCE_HIGH = 0x14,
    DESTINATION = 0x18,
    DESTINATION_HIGH = 0x1C,
    SIZE = 0x20,
    SIZE_HIGH = 0x24,
    SOURCE_TRANSFER = 0x28,
    DESTINATION_TRANSFER = 0x2C,
    STEP = 0x30,
    AUTOMATIC = 0x74,
    LINK = 0x78,
    ERROR_INFORMATION = 0x90,
    CHANNEL_IDENTITY = 0xC8,
    CHANNEL_BUILD_0 = 0xF8,
    CHANNEL_BUILD_1 = 0xFC,
};

enum command { ENABLE = 1 << 0, CLEAR = 1 << 1, STOP = 1 << 3 };

/** States, in the upper half of STATUS; their interrupts are in the lower half. */
enum state { DONE = 1 << 16, FAILED = 1 << 17, STOPPED = 1 << 19 };

enum error { BUS_ERROR = 1 << 0, CONFIGURATION_ERROR = 1 << 1 };

/** Bits of both TRANSFER registers. */
#define NOT_SECURE (1u << 10)
/** CONTROL: contiguous units; only unit, priority and done type are set. */
#define CONTROL_MASK 0xFFFFFE00u
#define CONTROL_COPY 0x00200200u
#define UNIT_SHIFT(control) ((control) & 7u)

#define IDENTITY_VALUE 0x3A00043Bu
#define RESET_TRANSFER 0x000F0400u

struct channel {
    uint32_t registers[CHANNEL_SIZE / 4];
    bool silent; /**< its interrupt is lost */
    uint64_t instructions_at_start;
    struct virtual_timer timer;
};

static struct {
    const struct dma_slot *slot;
    struct channel channels[CHANNEL_COUNT];
} dma;

static uint32_t *at(struct channel *channel, enum channel_register offset)
{
    return &channel->registers[offset / 4];
}

static unsigned number_of(const struct channel *channel)
{
    return (unsigned)(channel - dma.channels);
}

/* --- Interrupts ----------------------------------------------------------- */

static uint32_t status(struct channel *channel)
{
    const uint32_t states = *at(channel, STATUS);
    return states | (states >> 16 & *at(channel, INTERRUPTS));
}

static void update_irq(struct channel *channel)
{
    qemu_set_irq(machine_irq(dma.slot->irq + number_of(channel)),
                 (status(channel) & 0xFFFF) != 0 && !channel->silent);
}

/* --- A transfer ----------------------------------------------------------- */

static uint32_t bytes(struct channel *channel)
{
    return (*at(channel, SIZE) & 0xFFFF) << UNIT_SHIFT(*at(channel, CONTROL));
}

/** Does this controller support the transfer in the registers? */
static bool is_copy(struct channel *channel)
{
    const uint32_t control = *at(channel, CONTROL), size = *at(channel, SIZE);
    const uint32_t unit = 1u << UNIT_SHIFT(control);
    return (control & CONTROL_MASK) == CONTROL_COPY && UNIT_SHIFT(control) <= BUS_SHIFT &&
           (size & 0xFFFF) == size >> 16 && *at(channel, SIZE_HIGH) == 0 &&
           *at(channel, STEP) == 0x00010001 && *at(channel, LINK) == 0 &&
           *at(channel, AUTOMATIC) == 0 && *at(channel, SOURCE) % unit == 0 &&
           *at(channel, DESTINATION) % unit == 0 && *at(channel, SOURCE_HIGH) == 0 &&
           *at(channel, DESTINATION_HIGH) == 0;
}

static void end(struct channel *channel, enum state state)
{
    *at(channel, COMMAND) &= ~(uint32_t)ENABLE;
    *at(channel, STATUS) |= state;
    update_irq(channel);
}

static void fail(struct channel *channel, enum error error)
{
    *at(channel, ERROR_INFORMATION) = error;
    end(channel, FAILED);
}

/** Copy `size` bytes. All memories are secure: non-secure accesses find none. */
static bool copy(struct channel *channel, uint32_t size)
{
    const uint8_t *from = cache_map(MASTER_DMA, *at(channel, SOURCE), size, false);
    uint8_t *to = cache_map(MASTER_DMA, *at(channel, DESTINATION), size, true);
    const uint32_t attributes = *at(channel, SOURCE_TRANSFER) | *at(channel, DESTINATION_TRANSFER);
    if (!from || !to || attributes & NOT_SECURE) {
        message(MESSAGE_GUEST_ERROR, "dma: channel %u cannot copy from 0x%08x to 0x%08x",
                number_of(channel), *at(channel, SOURCE), *at(channel, DESTINATION));
        return false;
    }
    memmove(to, from, size);
    return true;
}

/** End of the transfer time: copy the data, or fail. */
static void complete(void *context)
{
    struct channel *channel = context;
    bool refused = dma_fault_due(DMA_BUS_ERROR), aborted = !refused && dma_fault_due(DMA_ABORT);
    dma_note_end(channel->instructions_at_start);
    if (refused || !copy(channel, aborted ? bytes(channel) / 2 : bytes(channel)) || aborted) {
        fail(channel, BUS_ERROR);
        return;
    }
    channel->silent = dma_fault_due(DMA_IRQ_LOST);
    end(channel, DONE);
}

static void start(struct channel *channel)
{
    *at(channel, COMMAND) |= ENABLE;
    *at(channel, STATUS) = 0;
    *at(channel, ERROR_INFORMATION) = 0;
    channel->silent = false;
    channel->instructions_at_start = dma_note_start();
    if (!is_copy(channel)) {
        message(MESSAGE_GUEST_ERROR, "dma: channel %u has an unsupported configuration",
                number_of(channel));
        fail(channel, CONFIGURATION_ERROR);
    } else if (!dma_fault_due(DMA_HANG)) {
        virtual_timer_set(&channel->timer, dma_due_time((bytes(channel) >> BUS_SHIFT) + 1));
    }
}

static void reset_channel(struct channel *channel)
{
    virtual_timer_stop(&channel->timer);
    memset(channel->registers, 0, sizeof channel->registers);
    *at(channel, CONTROL) = CONTROL_COPY;
    *at(channel, SOURCE_TRANSFER) = *at(channel, DESTINATION_TRANSFER) = RESET_TRANSFER;
    *at(channel, CHANNEL_IDENTITY) = IDENTITY_VALUE;
    *at(channel, CHANNEL_BUILD_0) = BUS_SHIFT << 22 | 31u << 16;
    update_irq(channel);
}

/* --- Registers ------------------------------------------------------------ */

static void command(struct channel *channel, uint32_t value)
{
    const bool runs = *at(channel, COMMAND) & ENABLE;
    if (value & STOP && runs) {
        virtual_timer_stop(&channel->timer);
        end(channel, STOPPED);
    } else if (value & CLEAR && !runs) {
        reset_channel(channel);
    } else if (value & ENABLE && !runs) {
        start(channel);
    }
}

static uint32_t read_register(void *context, uint32_t offset)
{
    (void)context;
    if (offset >= CHANNELS_BASE && offset < CHANNELS_BASE + CHANNEL_COUNT * CHANNEL_SIZE) {
        struct channel *channel = &dma.channels[(offset - CHANNELS_BASE) / CHANNEL_SIZE];
        const uint32_t inside = offset % CHANNEL_SIZE;
        return inside == STATUS ? status(channel) : *at(channel, inside);
    }
    switch (offset) {
    case BUILD_0:
        return BUS_SHIFT << 16 | 31u << 10 | (CHANNEL_COUNT - 1) << 4;
    case IDENTITY:
        return IDENTITY_VALUE;
    default:
        return 0;
    }
}

static void write_register(void *context, uint32_t offset, uint32_t value)
{
    (void)context;
    if (offset < CHANNELS_BASE || offset >= CHANNELS_BASE + CHANNEL_COUNT * CHANNEL_SIZE) {
        return;
    }
    struct channel *channel = &dma.channels[(offset - CHANNELS_BASE) / CHANNEL_SIZE];
    const uint32_t inside = offset % CHANNEL_SIZE;
    if (inside == COMMAND) {
        command(channel, value);
    } else if (inside == STATUS) {
        *at(channel, STATUS) &= ~(value & 0xFFFF0000u);
        *at(channel, ERROR_INFORMATION) &= *at(channel, STATUS) & FAILED ? ~0u : 0;
    } else if (inside < ERROR_INFORMATION && !(*at(channel, COMMAND) & ENABLE)) {
        *at(channel, inside) = value;
    }
    update_irq(channel);
}

/* --- Start and reset ------------------------------------------------------ */

static void reset(void)
{
    for (size_t i = 0; i < CHANNEL_COUNT; i++) {
        reset_channel(&dma.channels[i]);
    }
}

static void create(const struct dma_slot *slot)
{
    dma.slot = slot;
    for (size_t i = 0; i < CHANNEL_COUNT; i++) {
        struct channel *channel = &dma.channels[i];
        virtual_timer_create(&channel->timer, complete, channel);
    }
}

const struct dma_operations dma_350 = {
    .create = create,
    .reset = reset,
    .window_size = WINDOW_SIZE,
    .read = read_register,
    .write = write_register,
};
