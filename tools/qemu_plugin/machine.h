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

#include "gate.h"
#include "qemu_api.h"

/** QEMU's own stubs for unimplemented devices have priority -1000, its devices 0. */
#define MACHINE_OVER_DEVICES 10

/** A window of 32-bit registers. */
struct machine_window {
    const char *name;
    uint32_t base; /**< the secure alias at +0x10000000 comes with it */
    uint32_t size; /**< bytes */
    uint32_t (*read)(void *device, uint32_t offset);
    void (*write)(void *device, uint32_t offset, uint32_t value);
    const struct gate *gate; /**< while it is closed, no register answers; NULL: none */
};

/** Find the board in the running machine; ends QEMU with a sentence when it is another one. */
void machine_find(void);

/** Put a window (which is copied) into the CPU's address space, over whatever QEMU has there. */
void machine_map(const struct machine_window *window, void *device);

/** A register of a device that QEMU has, behind a window of ours; `registers` is its region. */
uint32_t machine_read_register(void *registers, uint32_t offset);
void machine_write_register(void *registers, uint32_t offset, uint32_t value);

/** Put a region over an address range in which nobody answers while the region is enabled. */
void machine_map_hole(MemoryRegion *hole, const char *name, uint32_t base, uint32_t size);

/** Is this thread carrying out an access of the CPU to one of these windows? Then the CPU stands.
 */
bool machine_in_access(void);

/** The memory region that the subsystem's bus masters see; ends QEMU when there is none. */
Object *machine_buses(void);

/** The address space of the CPU, its own registers included; ends QEMU when there is none. */
MemoryRegion *machine_cpu_view(void);

/** Input of the interrupt controller: an NVIC number (Corstone-300: from 32 on), or a GIC's SPI. */
qemu_irq machine_irq(unsigned number);

#endif
