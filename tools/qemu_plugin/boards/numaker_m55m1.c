// SPDX-License-Identifier: MIT
/**
 * Nuvoton NuMaker-M55M1, chip M55M1H2LJAE.
 *
 * Numbers: Zephyr's device tree (dts/arm/nuvoton/m55m1x.dtsi, m55m1h2l.dtsi),
 * where they have them. In these two files is no DMA controller, and no bit of
 * a clock register: those are of Nuvoton's BSP, as the firmware's are.
 */
#include "board.h"
#include "numaker_flash.h"
#include "numaker_system.h"

enum {
    RAM = BOARD_CPU_WRITES | BOARD_BUS_READS | BOARD_BUS_WRITES,
    CPU_ONLY = BOARD_CPU_WRITES,
    FLASH = BOARD_BUS_READS | BOARD_KEEPS,
};

/** That the bus masters see neither the TCMs nor SRAM2 is said in M55M1.ld of Nuvoton's BSP. */
static const struct board_memory memories[] = {
    {"ITCM", {"itcm"}, 0x00000000, 0, 0x00010000, CPU_ONLY, 0},
    {"FLASH", {"flash"}, 0x00100000, 0, 0x00200000, FLASH, 0},
    {"DTCM", {"dtcm"}, 0x20000000, 0, 0x00020000, CPU_ONLY, 0},
    {"SRAM01", {"sram01"}, 0x20100000, 0, 0x00100000, RAM, 0},
    {"SRAM2", {"sram2"}, 0x20200000, 0, 0x00050000, CPU_ONLY, 0},
};

static const struct board_registers registers[] = {
    {"peripherals", 0x40000000, 0x00500000},
};

static void add_devices(void)
{
    numaker_system_create();
    numaker_flash_create(0x40044000);
}

static const struct board_chip chip = {
    .vectors = 0x00100000,
    .irqs = 162,
    .clock_hz = 12000000,
    .uart = {.kind = BOARD_UART_NUMAKER,
             .base = 0x4024D000,
             .irq = 75,
             .gate = {.address = 0x400012E0, .mask = 1, .value = 1}},
    .registers = registers,
    .registers_count = sizeof registers / sizeof registers[0],
    .add_devices = add_devices,
};

const struct board board_numaker_m55m1 = {
    .name = "NUMAKER_M55M1",
    .machine = "none",
    .memories = memories,
    .memory_count = sizeof memories / sizeof memories[0],
    .npus = {{.argument = "npu",
              .preset = "ethos-u55-256",
              .base = 0x40003000,
              .irq = 13,
              .gate = {.address = 0x4000128C, .mask = 1, .value = 1}}},
    .dma = {.kind = DMA_350,
            .base = 0x40004000,
            .irq = 160,
            .gate = {.address = 0x40001240, .mask = 1, .value = 1}},
    .page = {.base = 0x4F000000, .irq = 159},
    .chip = &chip,
};
