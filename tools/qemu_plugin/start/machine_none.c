// SPDX-License-Identifier: MIT
/** A board built on QEMU's machine "none". */
#include "start/machine_none.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "board/board.h"
#include "board/machine.h"
#include "memory/board_memory.h"
#include "memory/board_power.h"
#include "chip/dw_ssi.h"
#include "base/message.h"
#include "base/qemu_api.h"
#include "chip/uart_line.h"

/** Priority of store-only registers, below QEMU's stubs and our devices. */
#define PRIORITY_OF_REGISTERS (-10)
/** A device with this register in its window has a higher one, and stores by itself. */
#define PRIORITY_OF_WATCHED (-9)

/** Description of machine "none" in its class; its init function is two pointers further on. */
static const char description[] = "empty machine";
#define WORDS_FIRST 12u
#define WORDS_BEHIND 24u
#define WORDS_TO_INIT 2u

/* --- Store-only registers ------------------------------------------------------- */

static uint8_t *remembered[BOARD_REGISTERS_MAX];

static void note_change(void)
{
    board_power_update();
    dw_ssi_update();
}

/** Most are 0 after a reset. Most of their pages are untouched, so the memory is released. */
static void forget_registers(void *opaque)
{
    const struct board_chip *chip = opaque;
    for (size_t i = 0; i < chip->registers_count; i++) {
        if (madvise(remembered[i], chip->registers[i].size, MADV_DONTNEED) != 0) {
            memset(remembered[i], 0, chip->registers[i].size);
        }
    }
    for (size_t i = 0; i < chip->after_reset_count; i++) {
        machine_none_store(chip->after_reset[i].address, chip->after_reset[i].value);
    }
    note_change();
}

static void add_registers(const struct board_chip *chip)
{
    for (size_t i = 0; i < chip->registers_count; i++) {
        const struct board_registers *row = &chip->registers[i];
        remembered[i] = memory_region_get_ram_ptr(
            board_memory_create_ram(row->name, row->base, row->size, PRIORITY_OF_REGISTERS));
    }
    // Registered before the devices, some of whose registers are not 0 after a reset.
    qemu_register_reset(forget_registers, (void *)chip);
}

/** Memory of a store-only register, or NULL. */
static uint8_t *memory_of(uint32_t address)
{
    const struct board_chip *chip = board()->chip;
    for (size_t i = 0; chip && i < chip->registers_count; i++) {
        const struct board_registers *row = &chip->registers[i];
        if (address >= row->base && address - row->base < row->size) {
            return remembered[i] + (address - row->base);
        }
    }
    return NULL;
}

uint32_t machine_none_load(uint32_t address)
{
    uint32_t value = 0;
    const uint8_t *memory = memory_of(address);
    if (memory) {
        memcpy(&value, memory, sizeof value);
    }
    return value;
}

void machine_none_store(uint32_t address, uint32_t value)
{
    uint8_t *memory = memory_of(address);
    if (memory) {
        memcpy(memory, &value, sizeof value);
    }
    note_change();
}

static uint64_t watched_read(void *opaque, uint64_t offset, unsigned size)
{
    (void)offset;
    (void)size;
    return machine_none_load((uint32_t)(uintptr_t)opaque);
}

static void watched_write(void *opaque, uint64_t offset, uint64_t value, unsigned size)
{
    (void)offset;
    (void)size;
    machine_none_store((uint32_t)(uintptr_t)opaque, (uint32_t)value);
}

void machine_none_watch(uint32_t address)
{
    static const MemoryRegionOps ops = {
        .read = watched_read,
        .write = watched_write,
        .endianness = DEVICE_LITTLE_ENDIAN,
        .valid = {.min_access_size = 4, .max_access_size = 4},
        .impl = {.min_access_size = 4, .max_access_size = 4},
    };
    if (memory_of(address)) {
        MemoryRegion *region = machine_new_region();
        memory_region_init_io(region, NULL, &ops, (void *)(uintptr_t)address, "watched", 4);
        memory_region_add_subregion_overlap(get_system_memory(), address, region,
                                            PRIORITY_OF_WATCHED);
    }
}

/** Second addresses: a part of the CPU's view appears in it again, as in QEMU's own Corstones. */
static void add_aliases(const struct board_chip *chip)
{
    for (size_t i = 0; i < BOARD_ALIASES_MAX && chip->aliases[i].size; i++) {
        const struct board_alias *row = &chip->aliases[i];
        MemoryRegion *region = machine_new_region();
        memory_region_init_alias(region, NULL, "alias", get_system_memory(), row->of, row->size);
        memory_region_add_subregion_overlap(get_system_memory(), row->base, region,
                                            PRIORITY_OF_REGISTERS);
    }
}

/* --- Registers that another core opens ----------------------------------------- */

static MemoryRegion *closed[BOARD_REGISTERS_MAX];
static struct virtual_timer opening;

static void set_closed(bool now)
{
    for (size_t i = 0; i < board()->chip->registers_count; i++) {
        memory_region_set_enabled(closed[i], now);
    }
}

static void open_on_cpu(void *cpu, void *data)
{
    (void)cpu;
    (void)data;
    set_closed(false);
}

/**
 * On the CPU's thread: a CPU that runs while another thread changes its memory map accesses a wrong
 * device for a moment, in QEMU 7.2 and 10 (physmem.c, tcg_commit()).
 */
static void open_registers(void *opaque)
{
    (void)opaque;
    async_run_on_cpu(qemu_get_cpu(0), open_on_cpu, NULL);
}

static void close_registers(void *opaque)
{
    const struct board_chip *chip = opaque;
    set_closed(true);
    virtual_timer_set(&opening,
                      qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) + INT64_C(1000000) * chip->closed_ms);
}

static void add_closed(const struct board_chip *chip)
{
    for (size_t i = 0; i < chip->registers_count; i++) {
        const struct board_registers *row = &chip->registers[i];
        closed[i] =
            machine_map_hole(MACHINE_CLOSED, get_system_memory(), row->name, row->base, row->size);
    }
    virtual_timer_create(&opening, open_registers, NULL);
    qemu_register_reset(close_registers, (void *)chip);
}

/* --- CPU and interrupt controller -------------------------------------------- */

static Clock *cpu_clock;

/** Period in 2^-32 ns. */
static uint64_t period(uint32_t hertz)
{
    return (UINT64_C(1000000000) << 32) / hertz;
}

void machine_none_set_clock(uint32_t hertz)
{
    if (clock_set(cpu_clock, period(hertz))) {
        clock_propagate(cpu_clock);
    }
}

static void add_cpu(Object *machine, const struct board_chip *chip)
{
    Object *core = qdev_new("armv7m");
    cpu_clock = clock_new(machine, "cpu-clock");
    clock_set(cpu_clock, period(chip->clock_hz));
    qdev_connect_clock_in(core, "cpuclk", cpu_clock);
    qdev_prop_set_string(core, "cpu-type", "cortex-m55-arm-cpu");
    qdev_prop_set_uint32(core, "num-irq", chip->irqs);
    qdev_prop_set_uint32(core, "init-svtor", chip->vectors);
    object_property_set_link(core, "memory", (Object *)get_system_memory(), NULL);
    if (!sysbus_realize_and_unref(core, NULL)) {
        fatal("this QEMU has no Cortex-M55 with %u interrupts", chip->irqs);
    }
    armv7m_load_kernel(qemu_get_cpu(0), NULL, 0, 0); // also resets it with the machine
}

/* --- UARTs ------------------------------------------------------------------ */

static void add_16550(const struct board_uart *uart)
{
    // Registers are four bytes apart; the guest accesses them through a window of ours.
    MemoryRegion *bus = machine_new_region();
    memory_region_init(bus, NULL, "uart-bus", UINT64_C(1) << 32);
    Object *device = serial_mm_init(bus, 0, 2, machine_irq(uart->irq), 115200, serial_hd(0),
                                    DEVICE_LITTLE_ENDIAN);
    MemoryRegion *registers = sysbus_mmio_get_region(device, 0);
    machine_map(&(struct machine_window){.name = "uart",
                                         .base = uart->base,
                                         .size = (uint32_t)memory_region_size(registers),
                                         .read = machine_read_register,
                                         .write = machine_write_register,
                                         .gate = &uart->gate},
                registers);
}

static void (*const uart_makers[])(const struct board_uart *uart) = {
    [BOARD_UART_16550] = add_16550,
    [BOARD_UART_CMSDK] = cmsdk_uart_create,
    [BOARD_UART_NUMAKER] = numaker_uart_create,
    [BOARD_UART_SCB] = scb_uart_create,
};

/* --- The machine ------------------------------------------------------------- */

static void make_board(Object *machine)
{
    const struct board_chip *chip = board()->chip;
    for (size_t i = 0; i < board()->memory_count; i++) {
        board_memory_create(&board()->memories[i], 0);
    }
    add_registers(chip);
    add_aliases(chip);
    board_power_create();
    dw_ssi_create();
    if (chip->closed_ms > 0) {
        add_closed(chip);
    }
    add_cpu(machine, chip);
    machine_find();
    uart_makers[chip->uart.kind](&chip->uart);
    if (chip->add_devices) {
        chip->add_devices();
    }
}

bool machine_none_prepare(void)
{
    Object *machine = qdev_get_machine();
    if (strcmp(object_get_typename(machine), "none-machine") != 0) {
        message(MESSAGE_NONE, "board=%s: start QEMU with -machine none", board()->name);
        return false;
    }
    void **words = object_get_class(machine);
    for (size_t i = WORDS_FIRST; i < WORDS_BEHIND; i++) {
        const char *text = words[i];
        if ((uintptr_t)text > UINT16_MAX && strcmp(text, description) == 0) {
            words[i + WORDS_TO_INIT] = (void *)make_board;
            return true;
        }
    }
    message(MESSAGE_NONE,
            "board=%s: this QEMU, %s, describes its machine \"none\" "
            "in an unexpected way",
            board()->name, qemu_api_version());
    return false;
}
