# SPDX-License-Identifier: MIT
# Module `ethosu` for MicroPython: driver, model runtime, Python face.
# A port gives USER_C_MODULES=<tree>/modules, and one boards/ folder with ethosu_board.h's functions.

ETHOSU_DIR := $(USERMOD_DIR)

SRC_USERMOD_C += $(sort $(foreach folder,driver model binding,$(wildcard $(ETHOSU_DIR)/$(folder)/*.c)))

CFLAGS_USERMOD += -I$(ETHOSU_DIR) -I$(ETHOSU_DIR)/driver -I$(ETHOSU_DIR)/model -I$(ETHOSU_DIR)/binding
