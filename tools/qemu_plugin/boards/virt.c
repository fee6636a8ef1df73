// SPDX-License-Identifier: MIT
/**
 * QEMU's machine for Linux, virt, with an NPU: AArch64 and 32-bit Arm.
 *
 * QEMU's memory map of virt (hw/arm/virt.c) keeps 0x0C000000 to 0x0DFFFFFF for
 * devices that a user adds; the NPU and its SRAM are there. Of the shared
 * peripheral interrupts it has a use for those up to 79 and from 112 on: 100 is
 * free. The kernel learns the same from a device tree: tools/ethosu_tools/virt.py.
 *
 * Linux runs the NPU non-secure, and nothing filters its accesses.
 */
#include "board.h"

enum { RAM = BOARD_CPU_WRITES | BOARD_BUS_READS | BOARD_BUS_WRITES };

static const struct board_memory memories[] = {
    {"SRAM", {"npu-sram"}, 0x0C200000, 0, 0x60000, RAM, 0},
    {"RAM", {NULL}, 0x40000000, 0, 0, RAM, 0},
};

const struct board board_virt = {
    .name = "VIRT",
    .machine = "virt",
    .memories = memories,
    .memory_count = sizeof memories / sizeof memories[0],
    .npus = {{.argument = "npu", .preset = "ethos-u65-256", .base = 0x0C100000, .irq = 100}},
    .open = true,
};
