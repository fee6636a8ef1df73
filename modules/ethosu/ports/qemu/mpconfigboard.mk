# SPDX-License-Identifier: MIT
# A board of MicroPython's qemu port with module `ethosu`, and no NPU: docs/upstream_port.md.

include boards/MPS2_AN385/mpconfigboard.mk

ETHOSU_ROOT := $(abspath $(BOARD_DIR)/../../../..)
FROZEN_MANIFEST ?= $(ETHOSU_ROOT)/modules/ethosu/manifest.py
# Debian's source package of MicroPython lacks micropython-lib, a git submodule. Nothing is taken
# from it; the makefiles look for a README.md there.
MPY_LIB_DIR = $(ETHOSU_ROOT)

# The module needs it.
CFLAGS += -DMICROPY_SCHEDULER_STATIC_NODES=1
SRC_C += $(abspath $(BOARD_DIR))/board.c
LDFLAGS += -T $(abspath $(BOARD_DIR))/unwind.ld
