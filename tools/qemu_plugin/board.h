// SPDX-License-Identifier: MIT
/**
 * What the plugin adds to the emulated board; a further NPU is one more row.
 *
 * The first NPU is where AN547 has its own, and the DMA controller at the
 * place that Arm's memory map of Corstone-300 on MPS3 calls DMA0. The second
 * NPU lies behind the first one's timing adapters, where that map has nothing.
 * AN547 reserves the interrupts 57 to 68 and assigns none of them; the DMA has
 * the number of DMA0 in Arm's older images (AN505).
 */
#ifndef BOARD_H
#define BOARD_H

#include <stddef.h>

#include "dma_device.h"
#include "npu_device.h"
#include "page_device.h"

#define BOARD_NPU_COUNT 2

static const struct npu_slot board_npus[BOARD_NPU_COUNT] = {
    {.argument = "npu", .preset = "ethos-u55-128", .base = 0x48102000, .irq = 56},
    {.argument = "npu1", .preset = NULL, .base = 0x48104000, .irq = 59},
};

static const struct dma_slot board_dma = {.base = 0x41200000, .irq = 58};

static const struct page_slot board_page = {.base = 0x4F000000, .irq = 57};

#endif
