// SPDX-License-Identifier: MIT
/**
 * QEMU's PL330, corrected to behave like the real one.
 *
 * QEMU runs a channel's whole program inside the register write that starts it, and
 * does not model bus errors. This window intercepts the controller's registers, and
 * our own bus its accesses: the start is delayed by the time of the transfer, and an
 * access rejected by the bus makes the channel fault. The transfer time comes from
 * running the program twice in QEMU's PL330, first on a bus that writes nothing.
 *
 * Not modelled: channels that wait for each other's events or for a peripheral, and
 * the lock-up of a full data buffer.
 *
 * Registers and bits: CoreLink DMA-330 DMA Controller Technical Reference
 * Manual, Arm DDI 0424, chapters 3 and 4.
 */
#include <stddef.h>
#include <string.h>

#include "base/message.h"
#include "base/qemu_api.h"
#include "board/machine.h"
#include "cpu/cache.h"
#include "dma/dma_kind.h"

#define WINDOW_SIZE 0x1000u
#define CHANNEL_COUNT 8u
#define EVENT_COUNT 32u

/** Number of bytes between cache events, see cache_map(). */
#define CACHE_EVENT_BYTES 256u

enum controller_register {
    MANAGER_STATUS = 0x000,
    INTERRUPT_CLEAR = 0x02C,
    MANAGER_FAULT = 0x030,
    CHANNELS_FAULT = 0x034,
    MANAGER_FAULT_TYPE = 0x038,
    CHANNEL_FAULT_TYPE = 0x040, /**< of channel n: 4 * n further */
    CHANNEL_STATUS = 0x100,     /**< of channel n: 8 * n further */
    DEBUG_STATUS = 0xD00,
    DEBUG_COMMAND = 0xD04,
    DEBUG_INSTRUCTION_0 = 0xD08,
    DEBUG_INSTRUCTION_1 = 0xD0C,
};

/** States of a thread, in its status. */
enum { EXECUTING = 0x1, FAULTING = 0xF };

/** Why a thread faults. */
enum fault_type {
    FAULT_GO = 1u << 4, /**< the manager may not start this channel so */
    FAULT_FETCH = 1u << 16,
    FAULT_WRITE = 1u << 17,
    FAULT_READ = 1u << 18,
};

/** In DEBUG_INSTRUCTION_0: by a channel's thread, not the manager; the instruction. */
#define BY_CHANNEL 0x1u
#define OPCODE(first) ((first) >> 16 & 0xFFu)
#define DMAGO 0xA0u
#define DMAGO_NOT_SECURE 0x02u
#define DMAKILL 0x01u

struct channel {
    uint32_t go[2]; /**< delayed debug instruction that starts it, or 0 */
    uint32_t fault; /**< enum fault_type */
    uint64_t units; /**< that it writes */
    uint64_t instructions_at_start;
    struct virtual_timer timer;
};

static struct {
    const struct dma_slot *slot;
    MemoryRegion *registers; /**< of QEMU's PL330 */
    struct channel channels[CHANNEL_COUNT];
    uint32_t instruction[2]; /**< DEBUG_INSTRUCTION_0 and 1 as the guest wrote them */
    uint32_t manager_fault;  /**< enum fault_type */
    bool aborted;            /**< as reported by QEMU's PL330 */
} dma;

/** Bus state for the program that QEMU is running. */
static struct {
    bool dry;             /**< nothing is written, and no interrupt reaches the CPU */
    bool silent;          /**< no event reaches the CPU */
    uint64_t units;       /**< written so far */
    uint64_t units_limit; /**< limit after which the bus rejects accesses */
    uint32_t program;     /**< where it begins */
    uint32_t fault;       /**< enum fault_type of a rejected access */
    uint32_t address;     /**< at which */
    uint32_t events;      /**< sent, but not forwarded to the CPU */
    _Alignas(max_align_t) unsigned char region[MEMORY_REGION_ROOM];
} bus;

static uint32_t get(uint32_t offset)
{
    return machine_read_register(dma.registers, offset);
}

static void set(uint32_t offset, uint32_t value)
{
    machine_write_register(dma.registers, offset, value);
}

static void execute(uint32_t first, uint32_t second)
{
    set(DEBUG_INSTRUCTION_0, first);
    set(DEBUG_INSTRUCTION_1, second);
    set(DEBUG_COMMAND, 0);
}

/* --- Interrupts ----------------------------------------------------------- */

static uint32_t channels_faulting(void)
{
    uint32_t bits = 0;
    for (size_t i = 0; i < CHANNEL_COUNT; i++) {
        bits |= dma.channels[i].fault ? 1u << i : 0;
    }
    return bits;
}

static void update_abort(void)
{
    bool high = dma.aborted || dma.manager_fault || channels_faulting();
    qemu_set_irq(machine_irq(dma.slot->abort_irq), high);
}

static void on_abort(void *opaque, int number, int level)
{
    (void)opaque;
    (void)number;
    if (!bus.dry) {
        dma.aborted = level;
        update_abort();
    }
}

/** QEMU's PL330 sets the line of an event, or the guest has cleared it. */
static void on_event(void *opaque, int number, int level)
{
    (void)opaque;
    if (level && (bus.dry || bus.silent || bus.fault)) {
        bus.events |= bus.silent ? 0 : 1u << number; // a lost interrupt shows in the registers
        return;
    }
    qemu_set_irq(machine_irq(dma.slot->irq + (unsigned)number), level);
}

/* --- The bus -------------------------------------------------------------- */

static uint8_t *find(uint64_t address, unsigned size, bool write)
{
    return address % CACHE_EVENT_BYTES == 0 && !bus.dry
               ? cache_map(MASTER_DMA, address, size, write)
               : cache_bus_bytes(address, size, write);
}

static void refuse(enum fault_type fault, uint64_t address)
{
    if (!bus.fault) {
        bus.fault = fault;
        bus.address = (uint32_t)address;
    }
}

static uint64_t bus_read(void *opaque, uint64_t address, unsigned size)
{
    (void)opaque;
    uint64_t value = 0;
    const uint8_t *bytes = find(address, size, false);
    if (bytes) {
        memcpy(&value, bytes, size);
    } else {
        refuse(address == bus.program ? FAULT_FETCH : FAULT_READ, address);
    }
    return value;
}

static void bus_write(void *opaque, uint64_t address, uint64_t value, unsigned size)
{
    (void)opaque;
    uint8_t *bytes = find(address, size, true);
    if (!bytes || bus.units == bus.units_limit) {
        refuse(FAULT_WRITE, address);
    }
    bus.units++;
    if (!bus.dry && !bus.fault) {
        memcpy(bytes, &value, size);
    }
}

/* --- A transfer ----------------------------------------------------------- */

static unsigned number_of(const struct channel *channel)
{
    return (unsigned)(channel - dma.channels);
}

/** Have QEMU run the program of a channel on the bus as set up. */
static void run(struct channel *channel)
{
    bus.units = bus.fault = bus.events = 0;
    bus.program = channel->go[1];
    execute(channel->go[0], channel->go[1]);
    if (bus.events) {
        set(INTERRUPT_CLEAR, bus.events);
    }
}

/** Count the bytes that the program writes, without side effects. */
static void dry_run(struct channel *channel)
{
    bus.dry = true;
    bus.units_limit = UINT64_MAX;
    run(channel);
    execute(DMAKILL << 16 | number_of(channel) << 8 | BY_CHANNEL, 0); // it may have faulted
    bus.dry = false;
    channel->units = bus.units;
}

/** Complete a transfer at its end time, or make it fail. */
static void complete(void *context)
{
    struct channel *channel = context;
    bool refused = dma_fault_due(DMA_BUS_ERROR), aborted = !refused && dma_fault_due(DMA_ABORT);
    bus.units_limit = refused ? 0 : aborted ? channel->units / 2 : UINT64_MAX;
    bus.silent = dma_fault_due(DMA_IRQ_LOST);
    dma_note_end(channel->instructions_at_start);
    run(channel);
    channel->go[0] = 0;
    channel->fault = bus.fault;
    bus.silent = false;
    if (bus.fault && !refused && !aborted) {
        message(MESSAGE_GUEST_ERROR, "dma: channel %u can't %s memory at 0x%08x",
                number_of(channel), bus.fault & FAULT_WRITE ? "write" : "read", bus.address);
    }
    bus.fault = 0;
    update_abort();
}

static void start(struct channel *channel)
{
    channel->go[0] = dma.instruction[0];
    channel->go[1] = dma.instruction[1];
    channel->instructions_at_start = dma_note_start();
    dry_run(channel);
    if (!dma_fault_due(DMA_HANG)) {
        virtual_timer_set(&channel->timer, dma_due_time(channel->units));
    }
}

static void cancel(struct channel *channel)
{
    virtual_timer_stop(&channel->timer);
    channel->go[0] = 0;
    channel->fault = 0;
}

/* --- Instructions in the debug registers ------------------------------------ */

/** A manager that is non-secure after reset can't start secure channels. */
static bool may_go(void)
{
    return dma.instruction[0] & DMAGO_NOT_SECURE << 16 || gate_is_open(&dma.slot->reset);
}

static void go(void)
{
    struct channel *channel = &dma.channels[dma.instruction[0] >> 24 & (CHANNEL_COUNT - 1)];
    if (!may_go()) {
        dma.manager_fault = FAULT_GO;
        update_abort();
    } else if (!channel->go[0] && !channel->fault) {
        start(channel);
    }
}

static void kill(void)
{
    if (dma.instruction[0] & BY_CHANNEL) {
        cancel(&dma.channels[dma.instruction[0] >> 8 & (CHANNEL_COUNT - 1)]);
    } else {
        dma.manager_fault = 0;
    }
    execute(dma.instruction[0], dma.instruction[1]);
    update_abort();
}

static void command(void)
{
    uint32_t opcode = OPCODE(dma.instruction[0]);
    if ((opcode & ~DMAGO_NOT_SECURE) == DMAGO) {
        go();
    } else if (opcode == DMAKILL) {
        kill();
    } else {
        execute(dma.instruction[0], dma.instruction[1]);
    }
}

/* --- Registers ------------------------------------------------------------ */

static uint32_t status(size_t number, uint32_t original)
{
    const struct channel *channel = &dma.channels[number];
    return channel->fault ? FAULTING : channel->go[0] ? EXECUTING : original;
}

static uint32_t read_register(void *context, uint32_t offset)
{
    (void)context;
    uint32_t value = get(offset);
    if (offset >= CHANNEL_STATUS && offset < CHANNEL_STATUS + 8 * CHANNEL_COUNT) {
        return offset % 8 == 0 ? status((offset - CHANNEL_STATUS) / 8, value) : value;
    }
    if (offset >= CHANNEL_FAULT_TYPE && offset < CHANNEL_FAULT_TYPE + 4 * CHANNEL_COUNT) {
        return value | dma.channels[(offset - CHANNEL_FAULT_TYPE) / 4].fault;
    }
    switch (offset) {
    case MANAGER_STATUS:
        return value | (dma.manager_fault ? FAULTING : 0);
    case MANAGER_FAULT:
        return value | (dma.manager_fault != 0);
    case MANAGER_FAULT_TYPE:
        return value | dma.manager_fault;
    case CHANNELS_FAULT:
        return value | channels_faulting();
    case DEBUG_STATUS:
        return 0; // instructions execute immediately
    default:
        return value;
    }
}

static void write_register(void *context, uint32_t offset, uint32_t value)
{
    (void)context;
    switch (offset) {
    case DEBUG_INSTRUCTION_0:
    case DEBUG_INSTRUCTION_1:
        dma.instruction[(offset - DEBUG_INSTRUCTION_0) / 4] = value;
        return;
    case DEBUG_COMMAND:
        if ((value & 3u) == 0) {
            command();
        }
        return;
    default:
        set(offset, value);
    }
}

/* --- Start and reset ------------------------------------------------------ */

/** Memory region for QEMU's PL330: the memories as bus masters see them. */
static Object *make_bus(void)
{
    static const MemoryRegionOps ops = {
        .read = bus_read,
        .write = bus_write,
        .endianness = DEVICE_LITTLE_ENDIAN,
        .valid = {.min_access_size = 1, .max_access_size = 8},
        .impl = {.min_access_size = 1, .max_access_size = 8},
    };
    memory_region_init_io((MemoryRegion *)bus.region, NULL, &ops, NULL, "ethosu-dma-bus",
                          UINT64_C(1) << 32);
    return (Object *)bus.region;
}

static void create(const struct dma_slot *slot)
{
    dma.slot = slot;
    Object *controller = qdev_new("pl330");
    object_property_set_link(controller, "memory", make_bus(), NULL);
    qdev_prop_set_uint32(controller, "num_chnls", CHANNEL_COUNT);
    qdev_prop_set_uint32(controller, "num_events", EVENT_COUNT);
    if (!sysbus_realize_and_unref(controller, NULL)) {
        fatal("this QEMU has no PL330 DMA controller");
    }
    dma.registers = sysbus_mmio_get_region(controller, 0);
    sysbus_connect_irq(controller, 0, qemu_allocate_irq(on_abort, NULL, 0));
    for (int i = 0; i < (int)EVENT_COUNT; i++) {
        sysbus_connect_irq(controller, 1 + i, qemu_allocate_irq(on_event, NULL, i));
    }
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
    dma.manager_fault = 0;
    dma.aborted = false;
    update_abort();
    for (unsigned i = 0; i < EVENT_COUNT; i++) {
        qemu_set_irq(machine_irq(dma.slot->irq + i), 0);
    }
}

const struct dma_operations dma_pl330 = {
    .create = create,
    .reset = reset,
    .window_size = WINDOW_SIZE,
    .read = read_register,
    .write = write_register,
};
