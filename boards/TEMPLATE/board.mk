# SPDX-License-Identifier: MIT
# How to build for TEMPLATE.

# Of the core: a Cortex-M55 here.
BOARD_CPU_FLAGS = -mcpu=cortex-m55 -mfloat-abi=hard
# Files of this folder. A board without a DMA controller has no dma.c.
BOARD_SRC = board.c dma.c uart.c
