# SPDX-License-Identifier: MIT
# Module `ethosu` for MicroPython: driver, model runtime, Python face.
# A port gives USER_C_MODULES=<tree>/modules, and one boards/ folder with ethosu_board.h's functions.

ETHOSU_DIR := $(USERMOD_DIR)

# What a build may leave out; README.md says what that saves.
ETHOSU_VERIFY ?= 1
ETHOSU_U85 ?= 1
ETHOSU_PMU ?= 1
# full, or terse: numbers instead of sentences, no texts for help().
ETHOSU_MESSAGES ?= full
# CPU kernels: all, none, or names of runtime/kernels/kernels.def: "CONV_2D PAD SOFTMAX".
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

ETHOSU_LEFT_OUT := \
	$(if $(filter 0,$(ETHOSU_VERIFY)),driver/ethosu_verify%) \
	$(if $(filter 0,$(ETHOSU_U85)),$(patsubst $(ETHOSU_DIR)/%,%,$(wildcard $(ETHOSU_DIR)/driver/*_u85.c))) \
	$(if $(filter 0,$(ETHOSU_PMU)),driver/ethosu_pmu.c binding/pmu_object.c) \
	$(if $(filter terse,$(ETHOSU_MESSAGES)),driver/ethosu_sentences.c runtime/operator_names.c) \
	$(if $(filter none,$(ETHOSU_KERNELS)),runtime/kernels/% runtime/plan_check.c runtime/plan_record.c runtime/schedule.c)
ETHOSU_INSTEAD := \
	$(if $(filter terse,$(ETHOSU_MESSAGES)),minimal/no_sentences.c) \
	$(if $(filter none,$(ETHOSU_KERNELS)),minimal/no_kernels.c)
CFLAGS_USERMOD += \
	$(if $(filter 0,$(ETHOSU_PMU)),-DETHOSU_NO_PMU) \
	$(if $(filter terse,$(ETHOSU_MESSAGES)),-DETHOSU_MESSAGES_TERSE)

ETHOSU_SRC := $(ETHOSU_INSTEAD) $(filter-out $(ETHOSU_LEFT_OUT),$(patsubst $(ETHOSU_DIR)/%,%, \
	$(sort $(foreach folder,driver runtime runtime/kernels binding, \
		$(wildcard $(ETHOSU_DIR)/$(folder)/*.c)))))
SRC_USERMOD_C += $(addprefix $(ETHOSU_DIR)/,$(ETHOSU_SRC))

# What works at each inference, or along each number, is made fast, all else small.
ETHOSU_FAST := driver/ethosu_driver.c driver/ethosu_device.c driver/ethosu_pool.c \
	driver/ethosu_hooks_sync.c driver/ethosu_memory.c \
	runtime/run.c runtime/flatbuffer.c runtime/tflite.c runtime/kernels/% \
	binding/model_run.c binding/numbers.c binding/semaphore.c

# $(call ETHOSU_OBJ,SOURCES). Flags of a target come behind those of the port, and win.
ETHOSU_OBJ = $(patsubst %.c,$(BUILD)/$(patsubst $(USER_C_MODULES)/%,%,$(ETHOSU_DIR))/%.o,$(1))
$(call ETHOSU_OBJ,$(filter $(ETHOSU_FAST),$(ETHOSU_SRC))): CFLAGS += -O2
$(call ETHOSU_OBJ,$(filter-out $(ETHOSU_FAST),$(ETHOSU_SRC))): CFLAGS += -Os

# Another choice is another module: the last one is kept, and what it made is made anew.
ETHOSU_CHOICE := $(foreach name,VERIFY U85 PMU MESSAGES KERNELS,$(name)=$(strip $(ETHOSU_$(name)))) \
	CMSIS_NN_DIR=$(CMSIS_NN_DIR)
ifneq ($(BUILD),)
ETHOSU_CHOSEN := $(BUILD)/ethosu.choice
ifneq ($(ETHOSU_CHOICE),$(file <$(ETHOSU_CHOSEN)))
$(shell mkdir -p $(BUILD))
$(file >$(ETHOSU_CHOSEN),$(ETHOSU_CHOICE))
endif
$(call ETHOSU_OBJ,$(ETHOSU_SRC)): $(ETHOSU_CHOSEN)
QSTR_GLOBAL_DEPENDENCIES += $(ETHOSU_CHOSEN)
endif

# The reference rounds after each float operation.
CFLAGS_USERMOD += -ffp-contract=off

CFLAGS_USERMOD += -I$(ETHOSU_DIR) -I$(ETHOSU_DIR)/driver -I$(ETHOSU_DIR)/runtime -I$(ETHOSU_DIR)/binding
