# SPDX-License-Identifier: MIT
# How to build for NUMAKER_M55M1.

BOARD_CPU_FLAGS = -mcpu=cortex-m55 -mfloat-abi=hard
BOARD_SRC = board.c flash.c uart.c
BOARD_DRIVERS = dma_350.c dma_copy.c moddma.c
# QEMU with tools/qemu_plugin runs this image too.
BOARD_EMULATOR = yes
# The board's disk takes firmware.bin.
BOARD_BIN = yes
