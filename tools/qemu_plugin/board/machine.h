// SPDX-License-Identifier: MIT
/**
 * The emulated board: where devices and interrupts are attached.
 *
 * All functions belong to QEMU's big lock: call them from the main loop or
 * from a register access.
 */
#ifndef MACHINE_H
#define MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/qemu_api.h"
#include "board/gate.h"

/** QEMU's own stubs for unimplemented devices have priority -1000, its devices 0. */
#define MACHINE_OVER_DEVICES 10

/** A window of 32-bit registers. */
struct machine_window {
    const char *name;
    uint32_t base; /**< the secure alias at +0x10000000 is mapped too */
    uint32_t size; /**< bytes */
    uint32_t (*read)(void *device, uint32_t offset);
    void (*write)(void *device, uint32_t offset, uint32_t value);
    const struct gates *gate;       /**< no register responds while it is closed; NULL for none */
    const struct gates *protection; /**< while closed, they read as 0 and ignore writes; or NULL */
    MemoryRegion *view;             /**< in which it is; NULL for the system's memory */
};

/**
 * Find the board in the running machine; ends QEMU with an error message if it is a different one.
 */
void machine_find(void);

/** Is the CPU of the chosen board a Cortex-M? */
bool machine_has_cortex_m(void);

/** Map a window (which is copied) into the CPU's address space, over QEMU's devices. */
void machine_map(const struct machine_window *window, void *device);

/** Read a register of a QEMU device behind a window of ours; `registers` is its region. */
uint32_t machine_read_register(void *registers, uint32_t offset);
void machine_write_register(void *registers, uint32_t offset, uint32_t value);

/** What is there for the CPU in an address range of a bus. */
enum machine_hole {
    MACHINE_ABSENT, /**< nothing that responds */
    MACHINE_EMPTY,  /**< the same, but under all devices and memories; QEMU logs no access */
    MACHINE_CLOSED, /**< even over windows: reads as 0, and ignores writes */
    MACHINE_SILENT, /**< under all devices and memories: the bus never answers, which ends QEMU with
                         a message, as a chip that hangs says nothing */
};

/** Map a hole, which exists while the region is enabled. */
MemoryRegion *machine_map_hole(enum machine_hole hole, MemoryRegion *bus, const char *name,
                               uint32_t base, uint64_t size);

/** Is this thread in a CPU access to one of these windows? If so, the CPU is stopped. */
bool machine_in_access(void);

/** Memory region seen by the subsystem's bus masters; ends QEMU if not found. */
Object *machine_buses(void);

/** The CPU, or NULL if it is no Cortex-M. */
Object *machine_cortex_m(void);

/** The CPU's address space, including its own registers; ends QEMU if not found. */
MemoryRegion *machine_cpu_view(void);

/** Interrupt controller input: an NVIC number (Corstone-300: from 32 on), or a GIC SPI. */
qemu_irq machine_irq(unsigned number);

#endif
