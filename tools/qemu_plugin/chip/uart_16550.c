// SPDX-License-Identifier: MIT
/** A 16550, QEMU's own device. */
#include "base/qemu_api.h"
#include "base/region.h"
#include "board/machine.h"
#include "chip/chip.h"

void uart_16550_create(const struct board_uart *uart)
{
    // Registers are four bytes apart; the guest accesses them through a window of ours.
    MemoryRegion *bus = region_new();
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
