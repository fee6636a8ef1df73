# SPDX-License-Identifier: MIT
# How to build for WEB.

BOARD_CORE = $(BOARD_DIR)/core_web.mk
BOARD_SRC = board.c core_web.c describe.c modbrowser.c uart.c
# Its mpconfigboard.h sets options of MicroPython.
BOARD_COMMON = no
