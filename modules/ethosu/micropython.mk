# SPDX-License-Identifier: MIT
# Module `ethosu` for MicroPython: driver, model runtime, Python face.
# A port gives USER_C_MODULES=<tree>/modules, and ethosu_board.h's functions: docs/upstream_port.md.

ETHOSU_DIR := $(USERMOD_DIR)

# What a build may leave out; FIGURES.md says what that saves.
# 0: no verifier, no support for a family of NPUs. driver/ethosu_build.h has the defaults, 1.
# ETHOSU_PTE=0: no ExecuTorch programs (.pte). runtime/format.h has its default, 1.
# ETHOSU_PMU=0: no performance counters. binding/npu_object.h has its default, 1.
# ETHOSU_VARIABLES=0: no resource variables, which streaming models have. runtime/builder.h: 1.
CFLAGS_USERMOD += $(foreach name,ETHOSU_VERIFY ETHOSU_U55 ETHOSU_U65 ETHOSU_U85 ETHOSU_PTE ETHOSU_PMU ETHOSU_VARIABLES, \
	$(if $($(name)),-D$(name)=$($(name))))
# ETHOSU_AUDIO=0: no module `ethosu_audio`. ETHOSU_AUDIO_MVE=0: it does not use MVE, to compare.
ETHOSU_AUDIO ?= 1
CFLAGS_USERMOD += $(if $(ETHOSU_AUDIO_MVE),-DETHOSU_AUDIO_MVE=$(ETHOSU_AUDIO_MVE))
# ETHOSU_IMAGE=0: no module ethosu_image. ETHOSU_IMAGE_MVE=0: it does not use MVE, to compare.
CFLAGS_USERMOD += $(if $(ETHOSU_IMAGE_MVE),-DETHOSU_IMAGE_MVE=$(ETHOSU_IMAGE_MVE))
# ETHOSU_MESSAGES=terse: numbers instead of sentences, no texts for help().
# ETHOSU_KERNELS: CPU kernels: all, none, or names of runtime/kernels/kernels.def: "CONV_2D PAD SOFTMAX".
ETHOSU_KERNELS ?= all
ETHOSU_KERNELS_KNOWN := $(shell sed -n 's/^KERNEL(\([A-Z0-9_]*\),.*)/\1/p' $(ETHOSU_DIR)/runtime/kernels/kernels.def)
ETHOSU_KERNELS_UNKNOWN := $(filter-out all none $(ETHOSU_KERNELS_KNOWN),$(ETHOSU_KERNELS))
ifneq ($(ETHOSU_KERNELS_UNKNOWN),)
$(error ETHOSU_KERNELS: no kernel $(ETHOSU_KERNELS_UNKNOWN); there are: $(ETHOSU_KERNELS_KNOWN))
endif
ifeq ($(filter all,$(ETHOSU_KERNELS)),)
ETHOSU_KERNEL_LIST := $(foreach name,$(filter-out none,$(ETHOSU_KERNELS)),KERNEL($(name)))
CFLAGS_USERMOD += '-DETHOSU_KERNEL_LIST=$(ETHOSU_KERNEL_LIST)'
endif

# A tree of CMSIS-NN for the operators with weights; empty: our own loops.
CMSIS_NN_DIR ?=
include $(ETHOSU_DIR)/cmsis_nn.mk
CFLAGS_USERMOD += $(CMSIS_NN_USE)
CMSIS_NN_OBJ := $(addprefix $(BUILD)/cmsis_nn/,$(CMSIS_NN_SRC:.c=.o))
SRC_USERMOD_LIB_C += $(addprefix cmsis_nn/,$(CMSIS_NN_SRC))
$(CMSIS_NN_OBJ): CFLAGS += $(CMSIS_NN_CFLAGS)
$(BUILD)/cmsis_nn/%.o: $(CMSIS_NN_DIR)/Source/%.c
	$(call compile_c)

ETHOSU_LEFT_OUT :=
ETHOSU_INSTEAD :=
ifeq ($(ETHOSU_MESSAGES),terse)
CFLAGS_USERMOD += -DETHOSU_MESSAGES_TERSE
ETHOSU_LEFT_OUT += driver/ethosu_sentences.c runtime/operator_names.c
ETHOSU_INSTEAD += minimal/no_sentences.c
endif
ifeq ($(ETHOSU_KERNELS),none)
ETHOSU_LEFT_OUT += runtime/kernels/% runtime/live_memory.c runtime/plan_check.c \
	runtime/plan_record.c runtime/schedule.c
ETHOSU_INSTEAD += minimal/no_kernels.c
endif
ifeq ($(ETHOSU_PTE),0)
ETHOSU_LEFT_OUT += runtime/executorch/%
endif
ifeq ($(ETHOSU_PMU),0)
ETHOSU_LEFT_OUT += driver/ethosu_pmu.c binding/pmu_object.c
endif
ifeq ($(ETHOSU_AUDIO),0)
ETHOSU_LEFT_OUT += audio/% binding/audio_%
endif
ifeq ($(ETHOSU_IMAGE),0)
ETHOSU_LEFT_OUT += image/% binding/image_%
endif
ETHOSU_SRC := $(ETHOSU_INSTEAD) $(filter-out $(ETHOSU_LEFT_OUT),$(patsubst $(ETHOSU_DIR)/%,%, \
	$(sort $(wildcard $(addprefix $(ETHOSU_DIR)/,driver/*.c runtime/*.c runtime/executorch/*.c runtime/kernels/*.c \
	audio/*.c image/*.c binding/*.c)))))
SRC_USERMOD_C += $(addprefix $(ETHOSU_DIR)/,$(ETHOSU_SRC))

# Code that runs at each inference, or for each number, is compiled for speed, the rest for size.
ETHOSU_FAST := driver/ethosu_driver.c driver/ethosu_verify.c driver/ethosu_verify_maps.c driver/device.c driver/device_check.c driver/ethosu_pool.c \
	driver/ethosu_hooks_sync.c driver/ethosu_memory.c driver/ethosu_streams.c \
	runtime/run.c runtime/flatbuffer.c runtime/tflite.c runtime/kernels/% \
	runtime/executorch/ends.c runtime/executorch/real_pool.c \
	audio/% image/image_row.c image/image_write.c binding/model_run.c binding/numbers.c binding/semaphore.c

# $(call ETHOSU_OBJ,SOURCES). Flags of a target come behind those of the port, and win.
ETHOSU_OBJ = $(patsubst %.c,$(BUILD)/$(patsubst $(USER_C_MODULES)/%,%,$(ETHOSU_DIR))/%.o,$(1))
$(call ETHOSU_OBJ,$(filter $(ETHOSU_FAST),$(ETHOSU_SRC))): CFLAGS += -O2
$(call ETHOSU_OBJ,$(filter-out $(ETHOSU_FAST),$(ETHOSU_SRC))): CFLAGS += -Os

# The reference rounds after each float operation.
CFLAGS_USERMOD += -ffp-contract=off
# These flags are the whole port's: its own pin.h and the system's poll.h come before ours.
CFLAGS_USERMOD += $(foreach folder,. audio driver driver/include runtime image binding,-idirafter $(ETHOSU_DIR)/$(folder))

# binding/buffers.c replaces these functions. A port that links by `ld` itself: ETHOSU_WRAP=--wrap=
ETHOSU_WRAP ?= -Wl,--wrap=
LDFLAGS_USERMOD += $(addprefix $(ETHOSU_WRAP),gc_free gc_realloc mp_vfs_rom_ioctl)

# The NPUs stop when MicroPython ends, which a soft reset begins with. A port that has
# MICROPY_PORT_DEINIT_FUNC calls ethosu_deinit_all() in it: ETHOSU_DEINIT=no.
ETHOSU_DEINIT ?= yes
ifneq ($(ETHOSU_DEINIT),no)
CFLAGS_USERMOD += '-DMICROPY_PORT_DEINIT_FUNC={extern void ethosu_deinit_all(void);ethosu_deinit_all();}'
endif

# This file keeps the flags: a build with others compiles the module again.
ETHOSU_CHOICE := $(strip $(CFLAGS_USERMOD))
ifneq ($(BUILD),)
ETHOSU_CHOSEN := $(BUILD)/ethosu.choice
ifneq ($(ETHOSU_CHOICE),$(file <$(ETHOSU_CHOSEN)))
$(shell mkdir -p $(BUILD))
$(file >$(ETHOSU_CHOSEN),$(ETHOSU_CHOICE))
endif
$(call ETHOSU_OBJ,$(ETHOSU_SRC)): $(ETHOSU_CHOSEN)
QSTR_GLOBAL_DEPENDENCIES += $(ETHOSU_CHOSEN)
endif
