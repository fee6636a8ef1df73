// SPDX-License-Identifier: MIT
/**
 * Alif Ensemble E7, the high-performance core (M55_HP).
 *
 * Numbers: Zephyr's device tree of the E4, E6 and E8, which have the same
 * subsystem (dts/arm/alif/ensemble/), where it has them; else Alif's
 * description of the memory map. The firmware's come from elsewhere.
 */
#include "board.h"

enum {
    RAM = BOARD_CPU_WRITES | BOARD_BUS_READS | BOARD_BUS_WRITES,
    TCM = RAM | BOARD_BUS_AT_ALIAS,
    NVM = BOARD_CPU_WRITES | BOARD_BUS_READS | BOARD_KEEPS,
};

static const struct board_memory memories[] = {
    {"ITCM", {"itcm"}, 0x00000000, 0x50000000, 0x00040000, TCM, 0},
    {"SRAM0", {"sram0"}, 0x02000000, 0, 0x00400000, RAM, 0},
    {"SRAM1", {"sram1"}, 0x08000000, 0, 0x00280000, RAM, 0},
    {"DTCM", {"dtcm"}, 0x20000000, 0x50800000, 0x00100000, TCM, 0},
    {"MRAM", {"mram"}, 0x80000000, 0, 0x00580000, NVM, 0},
    {"OSPI1", {"ospi1"}, 0xC0000000, 0, 0x02000000, BOARD_BUS_READS, 0},
};

static const struct board_registers registers[] = {
    {"pins", 0x1A000000, 0x01000000},
    {"peripherals", 0x40000000, 0x0A000000},
};

static const struct board_chip chip = {
    .vectors = 0x80020000,
    .irqs = 480,
    .clock_hz = 400000000,
    .uart = {.kind = BOARD_UART_16550,
             .base = 0x4901C000,
             .irq = 128,
             .gate = {.address = 0x4902F008, .mask = 1 << 4, .value = 1 << 4}},
    .registers = registers,
    .registers_count = sizeof registers / sizeof registers[0],
};

const struct board board_alif_ensemble_e7 = {
    .name = "ALIF_ENSEMBLE_E7",
    .machine = "none",
    .memories = memories,
    .memory_count = sizeof memories / sizeof memories[0],
    .npus = {{.argument = "npu",
              .preset = "ethos-u55-256",
              .base = 0x400E1000,
              .irq = 55,
              .gate = {.address = 0x400F0010, .mask = 1, .value = 1}}},
    // Alif's description of the memory map only: Zephyr has no DMA controller here.
    .dma = {.kind = DMA_PL330,
            .base = 0x400C0000,
            .irq = 0,
            .abort_irq = 32,
            .gate = {.address = 0x400F0010, .mask = 1 << 4, .value = 1 << 4},
            .reset = {.address = 0x400F0000, .mask = 1 << 16 | 1, .value = 1 << 16}},
    .page = {.base = 0x4F000000, .irq = 479},
    .chip = &chip,
};
