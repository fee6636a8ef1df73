# SPDX-License-Identifier: MIT
# How to build for ALIF_ENSEMBLE_E7.

BOARD_CPU_FLAGS = -mcpu=cortex-m55 -mfloat-abi=hard
BOARD_SRC = board.c uart.c
BOARD_DRIVERS = dma_copy.c dma_pl330.c moddma.c
BOARD_CHIP = alif_ensemble
BOARD_CHIP_SRC = mram.c
# QEMU with tools/qemu_plugin runs this image too.
BOARD_EMULATOR = yes
# Tools that flash take firmware.bin.
BOARD_BIN = yes
