// SPDX-License-Identifier: MIT
/**
 * Infineon's DataWire controller (DW) with 16 channels that each copy one descriptor per software
 * trigger. Not modelled: other triggers, chains of descriptors, CRC, priorities, protection.
 * Descriptors that need one of these end with a descriptor error.
 *
 * Registers and descriptors: headers of Infineon's peripheral library (cyip_dw.h, cy_dma.h). The
 * driver's are from there, too, so a misreading of them shows here only in part.
 */
#include <string.h>

#include "base/message.h"
#include "base/qemu_api.h"
#include "board/machine.h"
#include "cpu/cache.h"
#include "dma/dma_kind.h"

#define WINDOW_SIZE 0x10000u
#define CHANNEL_COUNT 16u
#define CHANNELS_BASE 0x8000u
#define CHANNEL_SIZE 0x40u

enum dw_register { CTL = 0x00 };

enum channel_register {
    CH_CTL = 0x00,
    CH_STATUS = 0x04,
    CH_CURR_PTR = 0x0C,
    INTR = 0x10,
    INTR_SET = 0x14,
    INTR_MASK = 0x18,
    INTR_MASKED = 0x1C,
    TR_CMD = 0x28,
};

#define ENABLED (1u << 31)
enum { TRIGGER = 1 };

enum cause {
    COMPLETION = 1,
    SRC_BUS_ERROR = 2,
    DST_BUS_ERROR = 3,
    SRC_MISAL = 4,
    DST_MISAL = 5,
    CURR_PTR_NULL = 6,
    ACTIVE_CH_DISABLED = 7,
    DESCR_BUS_ERROR = 8,
};

/** Control word of a descriptor; all of it starts and ends once. */
enum { DESCR_2D = 2, WHOLE_DESCRIPTOR = 2 };
#define TYPE(control) ((control) >> 30)
#define DATA_SHIFT(control) ((control) >> 28 & 3u)
#define WORD_ENDS(control) ((control) >> 26 & 3u)
#define CH_DISABLE(control) ((control) >> 24 & 1u)
#define TR_IN_TYPE(control) ((control) >> 6 & 3u)
#define INTR_TYPE(control) ((control) >> 2 & 3u)

struct descriptor {
    uint32_t control, source, destination, x, y, next;
};
#define COUNT(loop) (((loop) >> 24) + 1u)
#define SOURCE_STEP(loop) ((loop) & 0xFFFu)
#define DESTINATION_STEP(loop) ((loop) >> 12 & 0xFFFu)

struct channel {
    uint32_t registers[CHANNEL_SIZE / 4];
    struct descriptor descriptor; /**< under way */
    bool silent;                  /**< its interrupt is lost */
    uint64_t instructions_at_start;
    struct virtual_timer timer;
};

static struct {
    const struct dma_slot *slot;
    uint32_t control;
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

static void update_irq(struct channel *channel)
{
    qemu_set_irq(machine_irq(dma.slot->irq + number_of(channel)),
                 (*at(channel, INTR) & *at(channel, INTR_MASK)) != 0 && !channel->silent);
}

/* --- A transfer ------------------------------------------------------------- */

static uint32_t bytes(const struct descriptor *descriptor)
{
    return COUNT(descriptor->x) * COUNT(descriptor->y) << DATA_SHIFT(descriptor->control);
}

/** Does it copy consecutive units, the whole at once? */
static bool is_copy(const struct descriptor *descriptor)
{
    const uint32_t control = descriptor->control, row = COUNT(descriptor->x);
    const bool one_row = COUNT(descriptor->y) == 1;
    return TYPE(control) == DESCR_2D && DATA_SHIFT(control) <= 2 && WORD_ENDS(control) == 0 &&
           TR_IN_TYPE(control) == WHOLE_DESCRIPTOR && INTR_TYPE(control) == WHOLE_DESCRIPTOR &&
           descriptor->next == 0 && SOURCE_STEP(descriptor->x) == 1 &&
           DESTINATION_STEP(descriptor->x) == 1 &&
           (one_row ||
            (SOURCE_STEP(descriptor->y) == row && DESTINATION_STEP(descriptor->y) == row));
}

static void end(struct channel *channel, enum cause cause)
{
    if (cause != COMPLETION || CH_DISABLE(channel->descriptor.control)) {
        *at(channel, CH_CTL) &= ~ENABLED;
    }
    *at(channel, CH_STATUS) = cause;
    *at(channel, INTR) = 1;
    update_irq(channel);
}

static enum cause copy(struct channel *channel, uint32_t size)
{
    const struct descriptor *descriptor = &channel->descriptor;
    const uint8_t *from = cache_map(MASTER_DMA, descriptor->source, size, false);
    uint8_t *to = cache_map(MASTER_DMA, descriptor->destination, size, true);
    if (!from || !to) {
        message(MESSAGE_GUEST_ERROR, "dma: channel %u cannot copy from 0x%08x to 0x%08x",
                number_of(channel), descriptor->source, descriptor->destination);
        return from ? DST_BUS_ERROR : SRC_BUS_ERROR;
    }
    memmove(to, from, size);
    return COMPLETION;
}

/** End of the transfer time: copy the data, or fail. */
static void complete(void *context)
{
    struct channel *channel = context;
    const uint32_t size = bytes(&channel->descriptor);
    const bool refused = dma_fault_due(DMA_BUS_ERROR);
    const bool aborted = !refused && dma_fault_due(DMA_ABORT);
    dma_note_end(channel->instructions_at_start);
    enum cause cause = refused ? SRC_BUS_ERROR : copy(channel, aborted ? size / 2 : size);
    if (cause == COMPLETION && aborted) {
        cause = DST_BUS_ERROR;
    }
    channel->silent = cause == COMPLETION && dma_fault_due(DMA_IRQ_LOST);
    end(channel, cause);
}

/** Read the channel's descriptor; COMPLETION if it can be executed. */
static enum cause fetch(struct channel *channel)
{
    const uint32_t pointer = *at(channel, CH_CURR_PTR);
    struct descriptor *descriptor = &channel->descriptor;
    const uint8_t *from = cache_map(MASTER_DMA, pointer, sizeof *descriptor, false);
    if (pointer == 0) {
        return CURR_PTR_NULL;
    }
    if (!from) {
        message(MESSAGE_GUEST_ERROR, "dma: channel %u cannot read a descriptor at 0x%08x",
                number_of(channel), pointer);
        return DESCR_BUS_ERROR;
    }
    memcpy(descriptor, from, sizeof *descriptor);
    if (!is_copy(descriptor)) {
        message(MESSAGE_GUEST_ERROR, "dma: channel %u has an unsupported descriptor",
                number_of(channel));
        return DESCR_BUS_ERROR;
    }
    const uint32_t unit = 1u << DATA_SHIFT(descriptor->control);
    return descriptor->source % unit        ? SRC_MISAL
           : descriptor->destination % unit ? DST_MISAL
                                            : COMPLETION;
}

static void start(struct channel *channel)
{
    *at(channel, CH_STATUS) = 0;
    channel->silent = false;
    channel->instructions_at_start = dma_note_start();
    const enum cause cause = fetch(channel);
    if (cause != COMPLETION) {
        end(channel, cause);
    } else if (!dma_fault_due(DMA_HANG)) {
        const uint32_t units =
            bytes(&channel->descriptor) >> DATA_SHIFT(channel->descriptor.control);
        virtual_timer_set(&channel->timer, dma_due_time(units));
    }
}

/* --- Registers ---------------------------------------------------------------- */

static void reset_channel(struct channel *channel)
{
    virtual_timer_stop(&channel->timer);
    memset(channel->registers, 0, sizeof channel->registers);
    channel->silent = false;
    update_irq(channel);
}

/** Off, the controller drops what is under way. */
static void set_control(uint32_t value)
{
    dma.control = value;
    for (size_t i = 0; i < CHANNEL_COUNT && !(value & ENABLED); i++) {
        virtual_timer_stop(&dma.channels[i].timer);
    }
}

static uint32_t read_register(void *context, uint32_t offset)
{
    (void)context;
    if (offset < CHANNELS_BASE || offset >= CHANNELS_BASE + CHANNEL_COUNT * CHANNEL_SIZE) {
        return offset == CTL ? dma.control : 0;
    }
    struct channel *channel = &dma.channels[(offset - CHANNELS_BASE) / CHANNEL_SIZE];
    const uint32_t inside = offset % CHANNEL_SIZE;
    return inside == INTR_MASKED ? *at(channel, INTR) & *at(channel, INTR_MASK)
                                 : *at(channel, inside);
}

static void write_channel(struct channel *channel, enum channel_register inside, uint32_t value)
{
    switch (inside) {
    case CH_STATUS:
    case INTR_MASKED:
        break;
    case INTR:
        *at(channel, INTR) &= ~value;
        break;
    case INTR_SET:
        *at(channel, INTR) |= value & 1u;
        break;
    case TR_CMD:
        if (value & TRIGGER && dma.control & ENABLED && *at(channel, CH_CTL) & ENABLED) {
            start(channel);
        }
        break;
    case CH_CTL:
        if (!(value & ENABLED)) {
            virtual_timer_stop(&channel->timer);
        }
        *at(channel, CH_CTL) = value;
        break;
    default:
        *at(channel, inside) = value;
    }
    update_irq(channel);
}

static void write_register(void *context, uint32_t offset, uint32_t value)
{
    (void)context;
    if (offset == CTL) {
        set_control(value);
    } else if (offset >= CHANNELS_BASE && offset < CHANNELS_BASE + CHANNEL_COUNT * CHANNEL_SIZE) {
        write_channel(&dma.channels[(offset - CHANNELS_BASE) / CHANNEL_SIZE], offset % CHANNEL_SIZE,
                      value);
    }
}

/* --- Start and reset ------------------------------------------------------------ */

static void reset(void)
{
    set_control(0);
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

const struct dma_operations dma_dw = {
    .create = create,
    .reset = reset,
    .window_size = WINDOW_SIZE,
    .read = read_register,
    .write = write_register,
};
