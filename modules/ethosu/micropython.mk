# SPDX-License-Identifier: MIT
# Module `ethosu` for MicroPython: driver, model runtime, Python face.
# A port gives USER_C_MODULES=<tree>/modules, and one boards/ folder with ethosu_board.h's functions.

ETHOSU_DIR := $(USERMOD_DIR)

SRC_USERMOD_C += $(sort $(foreach folder,driver model model/kernels binding, \
	$(wildcard $(ETHOSU_DIR)/$(folder)/*.c)))

# CPU kernels: all, none, or names of model/kernels/kernels.def: "CONV_2D PAD SOFTMAX".
ETHOSU_KERNELS ?= all
ETHOSU_KERNELS_KNOWN := $(shell sed -n 's/^KERNEL(\(.*\))/\1/p' $(ETHOSU_DIR)/model/kernels/kernels.def)
ETHOSU_KERNELS_UNKNOWN := $(filter-out all none $(ETHOSU_KERNELS_KNOWN),$(ETHOSU_KERNELS))
ifneq ($(ETHOSU_KERNELS_UNKNOWN),)
$(error ETHOSU_KERNELS: no kernel $(ETHOSU_KERNELS_UNKNOWN); there are: $(ETHOSU_KERNELS_KNOWN))
endif
ifeq ($(filter all,$(ETHOSU_KERNELS)),)
ETHOSU_KERNEL_LIST := $(foreach name,$(filter-out none,$(ETHOSU_KERNELS)),KERNEL($(name)))
CFLAGS_USERMOD += '-DETHOSU_KERNEL_LIST=$(ETHOSU_KERNEL_LIST)'
endif
# The reference rounds after each float operation.
CFLAGS_USERMOD += -ffp-contract=off

CFLAGS_USERMOD += -I$(ETHOSU_DIR) -I$(ETHOSU_DIR)/driver -I$(ETHOSU_DIR)/model -I$(ETHOSU_DIR)/binding
