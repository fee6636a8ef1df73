# SPDX-License-Identifier: MIT
# How to build for MPS3_AN547.

BOARD_CPU_FLAGS = -mcpu=cortex-m55 -mfloat-abi=hard
BOARD_SRC = board.c uart.c
BOARD_DRIVERS = dma_copy.c dma_pl081.c moddma.c
# QEMU with tools/qemu_plugin runs this image too.
BOARD_EMULATOR = yes
