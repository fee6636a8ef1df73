// SPDX-License-Identifier: MIT
/**
 * QEMU's PL081, corrected to behave like the real one.
 *
 * QEMU copies inside the register write that enables a channel, does not update its interrupt line
 * after that write, and does not model bus errors. A guest would never sleep during a transfer, and
 * never see one fail. This window therefore intercepts the controller's registers: it delays the
 * enabling write by the time of the transfer, and a transfer from or to memory that the controller
 * cannot access ends with its error interrupt.
 *
 * Registers and bits: Arm PrimeCell Single Master DMA Controller (PL081) Technical Reference
 * Manual, Arm DDI 0218, chapter 3.
 */
#include <stddef.h>
#include <string.h>

#include "base/message.h"
#include "base/qemu_api.h"
#include "board/machine.h"
#include "cpu/cache.h"
#include "dma/dma_kind.h"

#define WINDOW_SIZE 0x1000u

enum controller_register {
    INT_STATUS = 0x000,
    INT_ERROR_STATUS = 0x00C,
    INT_ERROR_CLEAR = 0x010,
    RAW_INT_ERROR_STATUS = 0x018,
    ENABLED_CHANNELS = 0x01C,
    CONFIGURATION = 0x030,
};

/** Channel n's registers start at 0x100 + n * 0x20. */
enum channel_register {
    SOURCE = 0x00,
    DESTINATION = 0x04,
    LIST = 0x08,
    CONTROL = 0x0C,
    CHANNEL_CONFIGURATION = 0x10,
};

#define CHANNEL_BASE 0x100u
#define CHANNEL_SIZE 0x20u
#define CHANNEL_COUNT 2u
#define ENABLE 0x1u             /**< in both kinds of configuration register */
#define ERROR_INTERRUPT 0x4000u /**< in a channel's configuration: not masked */
#define DONE_INTERRUPT 0x8000u  /**< the same for the end of a transfer */
#define UNITS 0xFFFu            /**< in a channel's control */
#define LIST_ADDRESS 0xFFFFFFFCu
#define NOWHERE 0xFFFFFFF0u /**< no memory of any board */
#define LIST_LIMIT 65536u   /**< a longer list is considered circular */

/** One piece of a transfer: a channel's registers, which are also the layout of list items. */
struct piece {
    uint32_t source;
    uint32_t destination;
    uint32_t next;
    uint32_t control;
};

struct channel {
    uint32_t held; /**< delayed write that enables it, or 0 */
    uint64_t instructions_at_start;
    struct virtual_timer timer;
};

static struct {
    MemoryRegion *registers; /**< of QEMU's PL081 */
    qemu_irq irq;
    struct channel channels[CHANNEL_COUNT];
    uint32_t errors;  /**< one bit per channel that ended with an error */
    uint32_t enabled; /**< those with the interrupt enabled */
    const struct gates *master;
} dma;

static uint32_t get(uint32_t offset)
{
    return machine_read_register(dma.registers, offset);
}

static void set(uint32_t offset, uint32_t value)
{
    machine_write_register(dma.registers, offset, value);
}

/** QEMU updates its part of the line on such a write; ours is or-ed in. */
static void update_irq(void)
{
    set(CONFIGURATION, get(CONFIGURATION));
    if (dma.errors & dma.enabled) {
        qemu_set_irq(dma.irq, 1);
    }
}

/* --- The pieces of a transfer --------------------------------------------- */

static uint32_t units(const struct piece *piece)
{
    return piece->control & UNITS;
}

static uint64_t bytes(const struct piece *piece, unsigned width_shift)
{
    return (uint64_t)units(piece) << (piece->control >> width_shift & 7u);
}

static bool reachable(const struct piece *piece)
{
    return cache_map(MASTER_DMA, piece->source, bytes(piece, 18), false) &&
           cache_map(MASTER_DMA, piece->destination, bytes(piece, 21), true);
}

static struct piece first_piece(uint32_t base)
{
    return (struct piece){get(base + SOURCE), get(base + DESTINATION), get(base + LIST),
                          get(base + CONTROL)};
}

/** Replace a piece by the next of its list. False at the end, or if it cannot be read. */
static bool next_piece(struct piece *piece, bool *error)
{
    uint32_t address = piece->next & LIST_ADDRESS;
    if (!address) {
        return false;
    }
    const uint8_t *item = cache_map(MASTER_DMA, address, sizeof *piece, false);
    *error = !item;
    if (item) {
        memcpy(piece, item, sizeof *piece);
    }
    return item;
}

/** Check a transfer before making it: its total units, and whether it causes an error. */
static uint64_t check_transfer(uint32_t base, bool *error)
{
    struct piece piece = first_piece(base);
    uint64_t total = 0;
    unsigned count = 0;
    *error = false;
    do {
        total += units(&piece);
        *error = !reachable(&piece) || ++count > LIST_LIMIT;
    } while (!*error && next_piece(&piece, error));
    return total;
}

/* --- A transfer ----------------------------------------------------------- */

static uint32_t base_of(const struct channel *channel)
{
    return CHANNEL_BASE + (uint32_t)(channel - dma.channels) * CHANNEL_SIZE;
}

static void fail(uint32_t bit, uint32_t configuration)
{
    dma.errors |= bit;
    dma.enabled &= ~bit;
    if (configuration & ERROR_INTERRUPT) {
        dma.enabled |= bit;
    }
}

/** Copy half of the first piece. */
static void copy_a_part(uint32_t base, uint32_t configuration)
{
    uint32_t control = get(base + CONTROL);
    set(base + CONTROL, (control & ~UNITS) | (control & UNITS) / 2);
    set(base + LIST, 0);
    set(base + CHANNEL_CONFIGURATION, configuration & ~DONE_INTERRUPT);
}

/**
 * The controller's accesses are answered with zeros and ignored: its first piece is one unit that
 * goes from nowhere to nowhere.
 */
static void copy_nothing(uint32_t base)
{
    message(MESSAGE_GUEST_ERROR,
            "dma: as a bus master it is not secure: it reads zeros, and its writes are ignored");
    set(base + CONTROL, (get(base + CONTROL) & ~UNITS) | 1u);
    set(base + SOURCE, NOWHERE);
    set(base + DESTINATION, NOWHERE);
    set(base + LIST, 0);
}

/** End of the transfer time: copy the data, or fail. */
static void complete(void *context)
{
    struct channel *channel = context;
    uint32_t base = base_of(channel), configuration = channel->held;
    bool error = false, refused = !gates_are_open(dma.master);
    if (refused) {
        copy_nothing(base);
    } else {
        check_transfer(base, &error);
    }
    if (error) {
        message(MESSAGE_GUEST_ERROR, "dma: channel %u can't access its memory, source 0x%08x",
                (unsigned)(channel - dma.channels), get(base + SOURCE));
    }
    bool aborted = !error && dma_fault_due(DMA_ABORT);
    if (aborted) {
        copy_a_part(base, configuration);
    }
    error = error || aborted || dma_fault_due(DMA_BUS_ERROR);
    dma_note_end(channel->instructions_at_start);
    channel->held = 0;
    if (error) {
        fail(1u << (channel - dma.channels), configuration);
    } else {
        set(base + CHANNEL_CONFIGURATION,
            dma_fault_due(DMA_IRQ_LOST) ? configuration & ~DONE_INTERRUPT : configuration);
    }
    update_irq();
}

static void start(struct channel *channel, uint32_t configuration)
{
    bool error;
    uint64_t units_in_all = check_transfer(base_of(channel), &error);
    channel->held = configuration;
    channel->instructions_at_start = dma_note_start();
    if (!dma_fault_due(DMA_HANG)) {
        virtual_timer_set(&channel->timer, dma_due_time(units_in_all));
    }
}

static void cancel(struct channel *channel)
{
    virtual_timer_stop(&channel->timer);
    channel->held = 0;
}

/* --- Registers ------------------------------------------------------------ */

/** The channel whose configuration register is at this offset, or NULL. */
static struct channel *configured_at(uint32_t offset)
{
    for (size_t i = 0; i < CHANNEL_COUNT; i++) {
        if (offset == base_of(&dma.channels[i]) + CHANNEL_CONFIGURATION) {
            return &dma.channels[i];
        }
    }
    return NULL;
}

static uint32_t channels_held(void)
{
    uint32_t bits = 0;
    for (size_t i = 0; i < CHANNEL_COUNT; i++) {
        bits |= dma.channels[i].held ? 1u << i : 0;
    }
    return bits;
}

static uint32_t read_register(void *context, uint32_t offset)
{
    (void)context;
    const struct channel *channel = configured_at(offset);
    if (channel && channel->held) {
        return channel->held;
    }
    uint32_t value = get(offset);
    switch (offset) {
    case INT_STATUS:
    case INT_ERROR_STATUS:
        return value | (dma.errors & dma.enabled);
    case RAW_INT_ERROR_STATUS:
        return value | dma.errors;
    case ENABLED_CHANNELS:
        return value | channels_held();
    default:
        return value;
    }
}

static void write_register(void *context, uint32_t offset, uint32_t value)
{
    (void)context;
    struct channel *channel = configured_at(offset);
    if (channel) {
        cancel(channel);
        if (value & ENABLE && get(CONFIGURATION) & ENABLE) {
            start(channel, value);
            return;
        }
    }
    if (offset == INT_ERROR_CLEAR) {
        dma.errors &= ~value;
    }
    set(offset, value);
    update_irq();
}

/* --- Start and reset ------------------------------------------------------ */

static void create(const struct dma_slot *slot)
{
    Object *controller = qdev_new("pl081");
    object_property_set_link(controller, "downstream", cache_bus(), NULL);
    if (!sysbus_realize_and_unref(controller, NULL)) {
        fatal("this QEMU has no PL081 DMA controller");
    }
    dma.registers = sysbus_mmio_get_region(controller, 0);
    dma.irq = machine_irq(slot->irq);
    dma.master = &slot->master;
    sysbus_connect_irq(controller, 0, dma.irq);
    for (size_t i = 0; i < CHANNEL_COUNT; i++) {
        struct channel *channel = &dma.channels[i];
        virtual_timer_create(&channel->timer, complete, channel);
    }
}

static void reset(void)
{
    for (size_t i = 0; i < CHANNEL_COUNT; i++) {
        cancel(&dma.channels[i]);
    }
    dma.errors = 0;
    qemu_set_irq(dma.irq, 0);
}

const struct dma_operations dma_pl081 = {
    .create = create,
    .reset = reset,
    .window_size = WINDOW_SIZE,
    .read = read_register,
    .write = write_register,
};
