# SPDX-License-Identifier: MIT
# A board of MicroPython's qemu port with module `ethosu`: an MPS3 with image AN547, whose NPU is this
# project's plugin for QEMU. docs/upstream_port.md.

ETHOSU_ROOT := $(abspath $(BOARD_DIR)/../../../..)

# The port's own board has doubles, for which its libm does not compile with each C library.
MICROPY_FLOAT_IMPL = float
SUPPORTS_HARDWARE_FP_SINGLE = 1
# Releases up to 1.26 lack this board.
include $(firstword $(wildcard boards/MPS3_AN547/mpconfigboard.mk) $(BOARD_DIR)/older/mpconfigboard.mk)

# Models need a larger heap than the port's.
MICROPY_HEAP_SIZE = 524288
FROZEN_MANIFEST ?= $(ETHOSU_ROOT)/modules/ethosu/manifest.py
# Debian's source package of MicroPython lacks micropython-lib, a git submodule. Nothing is taken
# from it; the makefiles look for a README.md there.
MPY_LIB_DIR = $(ETHOSU_ROOT)

# The module needs it.
CFLAGS += -DMICROPY_SCHEDULER_STATIC_NODES=1
SRC_C += $(abspath $(BOARD_DIR))/board.c
