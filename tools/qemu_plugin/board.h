// SPDX-License-Identifier: MIT
/** What the plugin adds to the emulated board; a further NPU is one more row. */
#ifndef BOARD_H
#define BOARD_H

#include "npu_device.h"

#define BOARD_NPU_COUNT 1

static const struct npu_slot board_npus[BOARD_NPU_COUNT] = {
    {.argument = "npu", .preset = "ethos-u55-128", .base = 0x48102000, .irq = 56},
};

#endif
