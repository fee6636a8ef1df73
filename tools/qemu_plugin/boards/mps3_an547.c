// SPDX-License-Identifier: MIT
/**
 * MPS3 with image AN547: QEMU's mps3-an547, a Corstone SSE-300.
 *
 * The first NPU is where AN547 has its own, and the DMA controller at the
 * place that Arm's memory map of Corstone-300 on MPS3 calls DMA0. The second
 * NPU lies behind the first one's timing adapters, where that map has nothing.
 * AN547 reserves the interrupts 57 to 68 and assigns none of them; the DMA has
 * the number of DMA0 in Arm's older images (AN505).
 */
#include "board.h"

enum { ALL = BOARD_CPU_WRITES | BOARD_BUS_READS | BOARD_BUS_WRITES };

static const struct board_memory memories[] = {
    {"ITCM", {"sse300-itcm"}, 0x00000000, 0x10000000, 0, BOARD_CPU_WRITES, 0},
    {"SSRAM", {"sram"}, 0x01000000, 0x11000000, 0, ALL, 0},
    {"DTCM", {"sse300-dtcm"}, 0x20000000, 0x30000000, 0, BOARD_CPU_WRITES, 0},
    {"ISRAM", {"armsse.sram0", "armsse.sram1"}, 0x21000000, 0x31000000, 0, ALL, 0},
    {"QSPI", {"QSPI"}, 0x28000000, 0x38000000, 0, BOARD_BUS_READS, 0},
    // The ROM file system is here, which other boards have in flash, and the host's window.
    {"DDR", {NULL}, 0x60000000, 0, 0, ALL | BOARD_KEEPS, 0x02000000},
};

const struct board board_mps3_an547 = {
    .name = "MPS3_AN547",
    .machine = "mps3-an547",
    .memories = memories,
    .memory_count = sizeof memories / sizeof memories[0],
    .npus =
        {
            {.argument = "npu", .preset = "ethos-u55-128", .base = 0x48102000, .irq = 56},
            {.argument = "npu1", .preset = NULL, .base = 0x48104000, .irq = 59},
        },
    .dma = {.kind = DMA_PL081, .base = 0x41200000, .irq = 58},
    .page = {.base = 0x4F000000, .irq = 57},
};
