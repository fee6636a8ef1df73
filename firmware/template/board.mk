# SPDX-License-Identifier: MIT
# How to build for TEMPLATE.

# Of the core: a Cortex-M55 here.
BOARD_CPU_FLAGS = -mcpu=cortex-m55 -mfloat-abi=hard
# Files of this folder, and those of firmware/drivers. A board without a DMA controller has no dma.c
# and no drivers; one with a controller that boards share has dma_copy.c dma_NAME.c moddma.c.
BOARD_SRC = board.c dma.c uart.c
BOARD_DRIVERS = dma_copy.c moddma.c
# Tools that flash take firmware.bin: vectors and code are in one memory.
BOARD_BIN = yes
# Once QEMU with tools/qemu_plugin runs the image, BOARD_EMULATOR = yes belongs here.
