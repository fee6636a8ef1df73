// SPDX-License-Identifier: MIT
/**
 * The UART of Arm's Cortex-M System Design Kit, QEMU's own device. Two interrupts of its five are
 * connected, as firmware for the FVP uses them.
 */
#include "base/message.h"
#include "base/qemu_api.h"
#include "board/machine.h"
#include "chip/chip.h"

/** Outputs of QEMU's device, hw/char/cmsdk-apb-uart.c. */
enum { OUTPUT_SENT, OUTPUT_RECEIVED };

void uart_cmsdk_create(const struct board_uart *uart)
{
    Object *device = qdev_new("cmsdk-apb-uart");
    qdev_prop_set_chr(device, "chardev", serial_hd(0));
    qdev_prop_set_uint32(device, "pclk-frq", uart->clock_hz);
    if (!sysbus_realize_and_unref(device, NULL)) {
        fatal("this QEMU cannot make a CMSDK UART");
    }
    sysbus_connect_irq(device, OUTPUT_SENT, machine_irq(uart->sent_irq));
    sysbus_connect_irq(device, OUTPUT_RECEIVED, machine_irq(uart->irq));
    memory_region_add_subregion_overlap(get_system_memory(), uart->base,
                                        sysbus_mmio_get_region(device, 0), MACHINE_OVER_DEVICES);
}
