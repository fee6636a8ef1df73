// SPDX-License-Identifier: MIT
/** See board_power.h. */
#include "memory/board_power.h"

#include <stddef.h>
#include <string.h>

#include "base/message.h"
#include "board/machine.h"
#include "board/registers.h"

/** A range of addresses that does not respond while its memory is off. */
static struct hole {
    const struct board_memory *memory;
    MemoryRegion *region;
} holes[2 * BOARD_MEMORIES_MAX];
static size_t hole_count;

/** Whether the CPU was seen asleep since a run or transfer began. */
static struct {
    bool seen;
    unsigned looks; /**< still to come */
    struct virtual_timer timer;
} nap;

#define LOOKS 20
#define LOOK_NS 230000 /**< not a fraction of a tick of the guest's clock */

/** Of the memory behind a controller; NULL without one. */
static bool (*maps)(const struct board_memory *memory);

void board_power_mapped_by(bool (*controller)(const struct board_memory *memory))
{
    maps = controller;
}

static bool has_gates(const struct gates *gates)
{
    static const struct gates none;
    return memcmp(gates, &none, sizeof none) != 0;
}

static void add_hole(const struct board_memory *memory, uint32_t base)
{
    MemoryRegion *region =
        machine_map_hole(MACHINE_ABSENT, get_system_memory(), memory->name,
                         base + memory->powered_from, memory->size - memory->powered_from);
    holes[hole_count++] = (struct hole){.memory = memory, .region = region};
}

static void look(void *context)
{
    (void)context;
    nap.seen = nap.seen || all_cpu_threads_idle();
    if (--nap.looks > 0) {
        virtual_timer_set(&nap.timer, qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) + LOOK_NS);
    }
}

static void update(void)
{
    for (size_t i = 0; i < hole_count; i++) {
        bool on = gates_are_open(&holes[i].memory->power);
        memory_region_set_enabled(holes[i].region, !on);
    }
}

void board_power_create(void)
{
    for (size_t i = 0; i < board()->memory_count; i++) {
        const struct board_memory *memory = &board()->memories[i];
        if (!has_gates(&memory->power)) {
            continue;
        }
        add_hole(memory, memory->base);
        if (memory->alias) {
            add_hole(memory, memory->alias);
        }
        for (size_t j = 0; j < GATES_MAX; j++) {
            registers_watch(memory->power.all[j].address);
        }
    }
    virtual_timer_create(&nap.timer, look, NULL);
    registers_on_change(update);
    update();
}

/** A CPU that accesses a register is awake, whatever it did before. */
static bool sleeps(void)
{
    return !machine_in_access() && (nap.seen || all_cpu_threads_idle());
}

/** Say once for each memory why it does not respond; a transfer may try a thousand times. */
static void explain(const struct board_memory *memory, const char *why)
{
    static bool said[BOARD_MEMORIES_MAX];
    if (!__atomic_exchange_n(&said[memory - board()->memories], true, __ATOMIC_RELAXED)) {
        message(MESSAGE_GUEST_ERROR, "%s %s: bus masters cannot access it", memory->name, why);
    }
}

bool board_power_on(const struct board_memory *memory, uint64_t end)
{
    if (end > memory->powered_from && !gates_are_open(&memory->power)) {
        explain(memory, "is off");
        return false;
    }
    if (maps && !maps(memory)) {
        explain(memory, "is not mapped by its controller");
        return false;
    }
    if (!gates_are_open(&memory->idle_clock) && sleeps()) {
        explain(memory, "has no clock while the CPU sleeps");
        return false;
    }
    return true;
}

static bool any_stops(void)
{
    for (size_t i = 0; i < board()->memory_count; i++) {
        if (!gates_are_open(&board()->memories[i].idle_clock)) {
            return true;
        }
    }
    return false;
}

int64_t board_power_settle(void)
{
    if (!any_stops()) {
        return 0;
    }
    nap.seen = false;
    nap.looks = LOOKS;
    virtual_timer_set(&nap.timer, qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) + LOOK_NS);
    return (LOOKS + 1) * LOOK_NS;
}
