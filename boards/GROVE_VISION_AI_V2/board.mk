# SPDX-License-Identifier: MIT
# How to build for GROVE_VISION_AI_V2.

BOARD_CPU_FLAGS = -mcpu=cortex-m55 -mfloat-abi=hard
BOARD_SRC = board.c
BOARD_DRIVERS = dma_copy.c dma_pl081.c moddma.c uart_16550.c
# QEMU with tools/qemu_plugin runs this image too.
BOARD_EMULATOR = yes
