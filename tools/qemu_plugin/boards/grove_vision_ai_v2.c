// SPDX-License-Identifier: MIT
/**
 * Seeed Grove Vision AI V2: the larger core (CM55M) of a Himax WE2.
 *
 * Devices: Himax's SVD file (WE2_S.svd), which has names and offsets of
 * registers and numbers of interrupts. Memories: Himax's image tool
 * (sec_mem_layout_one_sonly_bin.json). The NPU is in neither: its base and
 * interrupt are those of a ThreadX port that runs on the board
 * (ThreadXShell, boards/grove-vision-ai-v2). The firmware's numbers come from
 * the headers of Himax's SDK.
 *
 * All of it is at its secure addresses; the non-secure ones are 0x10000000 lower.
 */
#include "board.h"

enum {
    TCM = BOARD_CPU_WRITES,
    RAM = BOARD_CPU_WRITES | BOARD_BUS_READS | BOARD_BUS_WRITES,
};

static const struct board_memory memories[] = {
    {"ITCM", {"itcm"}, 0x10000000, 0x00000000, 0x00040000, TCM, 0},   // sec_1
    {"DTCM", {"dtcm"}, 0x30000000, 0x20000000, 0x00040000, TCM, 0},   // sec_2
    {"SRAM", {"sram"}, 0x34000000, 0x24000000, 0x00200000, RAM, 0},   // sec_3, sec_4
    {"SRAM2", {"sram2"}, 0x36000000, 0x26000000, 0x00060000, RAM, 0}, // sec_5
    {"flash",
     {"flash"},
     0x3A000000,
     0x2A000000,
     0x01000000, // sec_6
     BOARD_BUS_READS | BOARD_KEEPS,
     0},
};

static const struct board_registers registers[] = {
    {"peripherals", 0x50000000, 0x07000000},
};

static const struct board_chip chip = {
    .vectors = 0x10000000,
    .irqs = 480,
    .clock_hz = 400000000, // measured by that port
    // UART0, UART0_intr; SCU_LSC.SCU_UART0_PINMUX: without pins no byte leaves it.
    .uart = {.kind = BOARD_UART_16550,
             .base = 0x54003000,
             .irq = 90,
             .gate = {.address = 0x52001118, .mask = 0x1F1F, .value = 0x0101}},
    .registers = registers,
    .registers_count = sizeof registers / sizeof registers[0],
};

const struct board board_grove_vision_ai_v2 = {
    .name = "GROVE_VISION_AI_V2",
    .machine = "none",
    .memories = memories,
    .memory_count = sizeof memories / sizeof memories[0],
    // SCU_AON.SCU_U55_nSYSRESET
    .npus = {{.argument = "npu",
              .preset = "ethos-u55-64",
              .base = 0x53020000,
              .irq = 192,
              .gate = {.address = 0x56100214, .mask = 1, .value = 1}}},
    // DMA0; that port has its neighbour's combined interrupt at 133, three lines on.
    .dma = {.kind = DMA_PL081, .base = 0x50000000, .irq = 130},
    .page = {.base = 0x5F000000, .irq = 479},
    .chip = &chip,
};
