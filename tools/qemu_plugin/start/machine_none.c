// SPDX-License-Identifier: MIT
/** A board built on QEMU's machine "none". */
#include "start/machine_none.h"

#include <string.h>

#include "base/message.h"
#include "base/qemu_api.h"
#include "base/region.h"
#include "board/board.h"
#include "board/machine.h"
#include "board/registers.h"
#include "chip/chip.h"
#include "chip/dw_ssi.h"
#include "cpu/core_clock.h"
#include "memory/board_memory.h"
#include "memory/board_power.h"

/** Description of machine "none" in its class; its init function is two pointers further on. */
static const char description[] = "empty machine";
#define WORDS_FIRST 12u
#define WORDS_BEHIND 24u
#define WORDS_TO_INIT 2u

/** Second addresses: a part of the CPU's view appears in it again, as in QEMU's own Corstones. */
static void add_aliases(const struct board_chip *chip)
{
    for (size_t i = 0; i < BOARD_ALIASES_MAX && chip->aliases[i].size; i++) {
        const struct board_alias *row = &chip->aliases[i];
        MemoryRegion *region = region_new();
        memory_region_init_alias(region, NULL, "alias", get_system_memory(), row->of, row->size);
        memory_region_add_subregion_overlap(get_system_memory(), row->base, region,
                                            REGISTERS_PRIORITY);
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

static void add_cpu(Object *machine, const struct board_chip *chip)
{
    Object *core = qdev_new("armv7m");
    qdev_connect_clock_in(core, "cpuclk", core_clock_create(machine, chip->clock_hz));
    qdev_prop_set_string(core, "cpu-type", "cortex-m55-arm-cpu");
    qdev_prop_set_uint32(core, "num-irq", chip->irqs);
    qdev_prop_set_uint32(core, "init-svtor", chip->vectors);
    object_property_set_link(core, "memory", (Object *)get_system_memory(), NULL);
    if (!sysbus_realize_and_unref(core, NULL)) {
        fatal("this QEMU has no Cortex-M55 with %u interrupts", chip->irqs);
    }
    armv7m_load_kernel(qemu_get_cpu(0), NULL, 0, 0); // also resets it with the machine
}

/* --- Devices ----------------------------------------------------------------- */

static void (*const uarts[])(const struct board_uart *uart) = {
#define UART(kind, keys) [BOARD_UART_##kind] = uart_##kind##_create,
#include "board/devices.def"
};

static void (*const devices[])(uint32_t base) = {
#define DEVICE(kind) [BOARD_DEVICE_##kind] = kind##_create,
#include "board/devices.def"
};

/* --- The machine ------------------------------------------------------------- */

static void make_board(Object *machine)
{
    const struct board_chip *chip = board()->chip;
    for (size_t i = 0; i < board()->memory_count; i++) {
        board_memory_create(&board()->memories[i], 0);
    }
    registers_create(chip);
    add_aliases(chip);
    board_power_create();
    dw_ssi_create();
    if (chip->closed_ms > 0) {
        add_closed(chip);
    }
    add_cpu(machine, chip);
    machine_find();
    uarts[chip->uart.kind](&chip->uart);
    for (size_t i = 0; i < BOARD_DEVICES_MAX && chip->devices[i].base; i++) {
        devices[chip->devices[i].kind](chip->devices[i].base);
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
