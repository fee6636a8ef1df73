// SPDX-License-Identifier: MIT
/** Attaches the emulated board to QEMU's machine: register windows and interrupts. */
#include "board/machine.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/message.h"
#include "base/region.h"
#include "board/board.h"

/** Objects of a QEMU machine that devices connect to. */
struct kind {
    const char *machine;
    const char *controllers[2]; /**< possible types of the interrupt controller */
    const char *inputs;         /**< name of the inputs; NULL if unnamed */
    unsigned first;  /**< number of the first input; lower ones belong to the subsystem itself */
    const char *bus; /**< the controller's region for bus masters; NULL: the system's memory */
    bool cortex_m;
};

static const struct kind kinds[] = {
    // QEMU's system memory has a stub where the subsystem has its internal SRAM.
    {"mps3-an547", {"sse-300"}, "EXP_IRQ", 32, "armsse-container[0]", true},
    {"none", {"armv7m"}, NULL, 0, NULL, true},
    {"virt", {"arm-gicv3", "arm_gic"}, NULL, 0, NULL, false},
};

struct mapping {
    struct machine_window window;
    void *device;
};

static const struct kind *kind;
static Object *controller;

static const struct kind *find_kind(void)
{
    const struct kind *match = kinds;
    while (strcmp(match->machine, board()->machine) != 0) {
        match++;
    }
    return match;
}

void machine_find(void)
{
    kind = find_kind();
    for (size_t i = 0; i < 2 && kind->controllers[i] && !controller; i++) {
        controller = object_resolve_path_type("", kind->controllers[i], NULL);
    }
    if (!controller) {
        fatal("this machine is not %s: start QEMU with -machine %s", board()->name, kind->machine);
    }
}

bool machine_has_cortex_m(void)
{
    return find_kind()->cortex_m;
}

static _Thread_local bool in_access;

bool machine_in_access(void)
{
    return in_access;
}

/** Result of a bus access: done, or no device responds. */
enum { ANSWER_DONE = 0, ANSWER_NOBODY = 2 };

/* --- Windows ------------------------------------------------------------------ */

/** Does the device respond? */
static bool is_open(const struct gates *gates)
{
    return !gates || gates_are_open(gates);
}

static uint32_t window_read(void *opaque, uint64_t offset, uint64_t *value, unsigned size,
                            MemTxAttrs attributes)
{
    (void)size;
    (void)attributes;
    const struct mapping *mapping = opaque;
    *value = 0;
    if (!is_open(mapping->window.gate)) {
        return ANSWER_NOBODY;
    }
    if (!is_open(mapping->window.protection)) {
        return ANSWER_DONE;
    }
    in_access = true;
    *value = mapping->window.read(mapping->device, (uint32_t)offset);
    in_access = false;
    return ANSWER_DONE;
}

static uint32_t window_write(void *opaque, uint64_t offset, uint64_t value, unsigned size,
                             MemTxAttrs attributes)
{
    (void)size;
    (void)attributes;
    const struct mapping *mapping = opaque;
    if (!is_open(mapping->window.gate)) {
        return ANSWER_NOBODY;
    }
    if (!is_open(mapping->window.protection)) {
        return ANSWER_DONE;
    }
    in_access = true;
    mapping->window.write(mapping->device, (uint32_t)offset, (uint32_t)value);
    in_access = false;
    return ANSWER_DONE;
}

/** Words only, as on the APB; a doubleword access is split in two, as on the bus. */
static const MemoryRegionOps window_ops = {
    .read_with_attrs = window_read,
    .write_with_attrs = window_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = {.min_access_size = 4, .max_access_size = 8},
    .impl = {.min_access_size = 4, .max_access_size = 4},
};

void machine_map(const struct machine_window *window, void *device)
{
    // Never freed: devices exist until the process ends.
    struct mapping *mapping = calloc(1, sizeof *mapping);
    if (!mapping) {
        fatal("no memory for the window of %s", window->name);
    }
    mapping->window = *window;
    mapping->device = device;
    MemoryRegion *region = region_new();
    memory_region_init_io(region, NULL, &window_ops, mapping, window->name, window->size);
    memory_region_add_subregion_overlap(window->view ? window->view : get_system_memory(),
                                        window->base, region, MACHINE_OVER_DEVICES);
}

/* --- Holes -------------------------------------------------------------------- */

static uint32_t answer_in_hole(const void *hole, const char *what, uint64_t offset, unsigned size)
{
    switch ((enum machine_hole)(uintptr_t)hole) {
    case MACHINE_CLOSED:
        return ANSWER_DONE;
    case MACHINE_ABSENT:
    case MACHINE_EMPTY:
        return ANSWER_NOBODY;
    case MACHINE_SILENT:
        break;
    }
    fatal("the bus never answers: %s of %u bytes at 0x%08" PRIx64 ", where %s has nothing; a chip "
          "may stop here without a word",
          what, size, offset, board()->name);
}

static uint32_t hole_read(void *opaque, uint64_t offset, uint64_t *value, unsigned size,
                          MemTxAttrs attributes)
{
    (void)attributes;
    *value = 0;
    return answer_in_hole(opaque, "read", offset, size);
}

static uint32_t hole_write(void *opaque, uint64_t offset, uint64_t value, unsigned size,
                           MemTxAttrs attributes)
{
    (void)value;
    (void)attributes;
    return answer_in_hole(opaque, "write", offset, size);
}

MemoryRegion *machine_map_hole(enum machine_hole hole, MemoryRegion *bus, const char *name,
                               uint32_t base, uint64_t size)
{
    static const MemoryRegionOps ops = {
        .read_with_attrs = hole_read,
        .write_with_attrs = hole_write,
        .endianness = DEVICE_LITTLE_ENDIAN,
        .valid = {.min_access_size = 1, .max_access_size = 8, .unaligned = true},
        .impl = {.min_access_size = 1, .max_access_size = 8, .unaligned = true},
    };
    static const int priorities[] = {
        [MACHINE_ABSENT] = MACHINE_OVER_DEVICES,
        [MACHINE_CLOSED] = 2 * MACHINE_OVER_DEVICES,
        // below QEMU's stubs for devices that it does not have
        [MACHINE_EMPTY] = -2000,
        [MACHINE_SILENT] = -2000,
    };
    MemoryRegion *region = region_new();
    memory_region_init_io(region, NULL, &ops, (void *)(uintptr_t)hole, name, size);
    memory_region_add_subregion_overlap(bus, base, region, priorities[hole]);
    return region;
}

/* --- Parts of QEMU's machine -------------------------------------------------- */

uint32_t machine_read_register(void *registers, uint32_t offset)
{
    uint64_t value = 0;
    memory_region_dispatch_read(registers, offset, &value, MEMOP_WORD, 0);
    return (uint32_t)value;
}

void machine_write_register(void *registers, uint32_t offset, uint32_t value)
{
    memory_region_dispatch_write(registers, offset, value, MEMOP_WORD, 0);
}

Object *machine_buses(void)
{
    if (!kind->bus) {
        return (Object *)get_system_memory();
    }
    Object *container = object_resolve_path_component(controller, kind->bus);
    if (!container) {
        fatal("this QEMU's %s has no region \"%s\"", kind->machine, kind->bus);
    }
    return container;
}

Object *machine_cortex_m(void)
{
    return object_resolve_path_type("", "cortex-m55-arm-cpu", NULL);
}

MemoryRegion *machine_cpu_view(void)
{
    Object *cpu = machine_cortex_m();
    Object *view = cpu ? object_property_get_link(cpu, "memory", NULL) : NULL;
    if (!view) {
        fatal("this machine has no Cortex-M55, or this QEMU hides its address space");
    }
    return (MemoryRegion *)view;
}

qemu_irq machine_irq(unsigned number)
{
    return qdev_get_gpio_in_named(controller, kind->inputs, (int)(number - kind->first));
}
