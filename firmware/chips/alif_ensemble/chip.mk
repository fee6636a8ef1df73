# SPDX-License-Identifier: MIT
# How to build for a Cortex-M55 of Alif Ensemble E3, E5, E7; a board's board.mk includes it.

ifeq ($(filter M55_HP M55_HE,$(BUILD_VARIANT)),)
$(error $(BOARD): this chip has two cores: BOARD=$(BOARD_FOLDER)-M55_HP or BOARD=$(BOARD_FOLDER)-M55_HE)
endif

BOARD_CPU_FLAGS = -mcpu=cortex-m55 -mfloat-abi=hard
BOARD_DRIVERS = dma_copy.c dma_pl330.c moddma.c uart_16550.c
BOARD_CHIP = alif_ensemble
BOARD_CHIP_SRC = board.c mram.c
BOARD_MEMORY = $(ROOT)/firmware/chips/alif_ensemble/$(BUILD_VARIANT).ld
BOARD_FLAGS = -DBOARD_$(BUILD_VARIANT)
# QEMU with tools/qemu_plugin runs this image too.
BOARD_EMULATOR = yes
# Tools that flash take firmware.bin.
BOARD_BIN = yes
