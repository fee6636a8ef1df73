# SPDX-License-Identifier: MIT
# Module `ethosu` for MicroPython: driver, model runtime, Python module.
# A port gives USER_C_MODULES=<tree>/modules, and ethosu_board.h's functions: docs/upstream_port.md.

ETHOSU_DIR := $(USERMOD_DIR)

# What a build contains; FIGURES.md lists what each choice saves.
# ETHOSU_NPUS: the families of NPUs that it supports.
# ETHOSU_KERNELS: CPU operators: all, none, or names of runtime/kernels/kernels.def: "CONV_2D PAD SOFTMAX".
# ETHOSU_WITHOUT: features that it leaves out:
#   verify     the check of each command stream
#   messages   sentences and texts for help(): errors are numbers
#   pte        ExecuTorch programs
#   pmu        performance counters
#   variables  resource variables, which streaming models have
#   audio      module ethosu_audio
#   image      module ethosu_image
ETHOSU_FAMILIES := u55 u65 u85
ETHOSU_NPUS ?= $(ETHOSU_FAMILIES)
ETHOSU_KERNELS ?= all
ETHOSU_WITHOUT ?=

# $(call ETHOSU_CHECK,NAME,KINDS,KNOWN WORDS)
ETHOSU_CHECK = $(if $(filter-out $(3),$($(1))),$(error $(1): unknown $(2) $(filter-out $(3),$($(1))); expected: $(3)))
$(call ETHOSU_CHECK,ETHOSU_NPUS,family,$(ETHOSU_FAMILIES))
$(call ETHOSU_CHECK,ETHOSU_KERNELS,kernel,$(shell sed -n 's/^KERNEL(\([A-Z0-9_]*\),.*)/\1/p' $(ETHOSU_DIR)/runtime/kernels/kernels.def) all none)
$(call ETHOSU_CHECK,ETHOSU_WITHOUT,feature,verify messages pte pmu variables audio image cop2)

# Names of earlier versions. `ethosu run` also reads ETHOSU_VERIFY, from the environment.
ETHOSU_RENAMED = $(if $(filter-out undefined $(if $(filter ETHOSU_VERIFY,$(1)),environment),$(origin $(1))),$(error $(1) is now $(2)))
$(foreach name,U55 U65 U85,$(call ETHOSU_RENAMED,ETHOSU_$(name),a list of families: ETHOSU_NPUS="u55 u85"))
$(foreach row,VERIFY:verify MESSAGES:messages PTE:pte PMU:pmu VARIABLES:variables AUDIO:audio IMAGE:image, \
	$(call ETHOSU_RENAMED,ETHOSU_$(firstword $(subst :, ,$(row))),ETHOSU_WITHOUT=$(lastword $(subst :, ,$(row)))))
$(foreach name,ETHOSU_AUDIO_MVE ETHOSU_IMAGE_MVE,$(call ETHOSU_RENAMED,$(name),CFLAGS_EXTRA=-D$(name)=0))

# What leaves out a feature: macros, and files. The linker drops what nothing calls.
ETHOSU_FLAGS_u55 := -DETHOSU_U55=0
ETHOSU_FLAGS_u65 := -DETHOSU_U65=0
ETHOSU_FLAGS_u85 := -DETHOSU_U85=0
ETHOSU_FLAGS_verify := -DETHOSU_VERIFY=0
ETHOSU_FLAGS_messages := -DETHOSU_MESSAGES_TERSE
ETHOSU_FLAGS_pte := -DETHOSU_PTE=0
ETHOSU_FLAGS_pmu := -DETHOSU_PMU=0
ETHOSU_FLAGS_variables := -DETHOSU_VARIABLES=0
ETHOSU_FLAGS_cop2 := -DETHOSU_COP2=0
ETHOSU_FILES_messages := driver/base/ethosu_messages.c runtime/file/operator_names.c
ETHOSU_FILES_pte := executorch/%
ETHOSU_FILES_pmu := driver/job/ethosu_pmu% binding/npu/pmu_object.c
ETHOSU_FILES_audio := audio/% binding/media/audio_%
ETHOSU_FILES_image := image/% binding/media/image_%
ETHOSU_OMITTED := $(sort $(ETHOSU_WITHOUT)) $(filter-out $(ETHOSU_NPUS),$(ETHOSU_FAMILIES))
CFLAGS_USERMOD += $(foreach name,$(ETHOSU_OMITTED),$(ETHOSU_FLAGS_$(name)))
ETHOSU_LEFT_OUT := $(foreach name,$(ETHOSU_OMITTED),$(ETHOSU_FILES_$(name)))
ETHOSU_INSTEAD := $(if $(filter messages,$(ETHOSU_OMITTED)),minimal/no_messages.c)
ifeq ($(filter all,$(ETHOSU_KERNELS)),)
CFLAGS_USERMOD += '-DETHOSU_KERNEL_LIST=$(foreach name,$(filter-out none,$(ETHOSU_KERNELS)),KERNEL($(name)))'
endif
ifeq ($(ETHOSU_KERNELS),none)
ETHOSU_LEFT_OUT += runtime/kernels/% runtime/plan/%
ETHOSU_INSTEAD += minimal/no_kernels.c
endif

# Payloads that each NPU keeps for C code of others that calls ethosu_invoke_*(), 380 bytes each. The
# Python module does not call it.
ETHOSU_STREAMS ?= 0
CFLAGS_USERMOD += -DETHOSU_EXT_STREAMS=$(ETHOSU_STREAMS)

# A tree of CMSIS-NN for the operators with weights; empty: our own loops.
CMSIS_NN_DIR ?=
include $(ETHOSU_DIR)/cmsis_nn.mk
CFLAGS_USERMOD += $(CMSIS_NN_USE)
CMSIS_NN_OBJ := $(addprefix $(BUILD)/cmsis_nn/,$(CMSIS_NN_SRC:.c=.o))
SRC_USERMOD_LIB_C += $(addprefix cmsis_nn/,$(CMSIS_NN_SRC))
$(CMSIS_NN_OBJ): CFLAGS += $(CMSIS_NN_CFLAGS)
$(BUILD)/cmsis_nn/%.o: $(CMSIS_NN_DIR)/Source/%.c
	$(call compile_c)

ETHOSU_SRC := $(ETHOSU_INSTEAD) $(filter-out $(ETHOSU_LEFT_OUT),$(patsubst $(ETHOSU_DIR)/%,%, \
	$(sort $(wildcard $(addprefix $(ETHOSU_DIR)/,driver/*/*.c runtime/*/*.c runtime/kernels/*/*.c \
	executorch/*.c executorch/*/*.c audio/*.c image/*.c binding/*.c binding/*/*.c)))))
SRC_USERMOD_C += $(addprefix $(ETHOSU_DIR)/,$(ETHOSU_SRC))

# Code that runs at each inference, or for each number, is compiled for speed, the rest for size.
ETHOSU_FAST := $(addprefix driver/,board/ethosu_hooks_sync.c board/ethosu_memory.c device/device.c device/device_check.c \
	$(addprefix verify/ethosu_verify,.c _maps.c _products.c) \
	$(patsubst %,job/ethosu_%.c,driver irq pool streams)) \
	runtime/run/run.c runtime/file/flatbuffer.c runtime/file/tflite.c runtime/build/nd.c runtime/kernels/% \
	executorch/operators/quantize_operators.c executorch/operators/real_pool.c \
	audio/% image/image_row.c image/image_write.c binding/call/semaphore.c \
	binding/tensor/element.c binding/model/exchange.c binding/model/model_run.c

# Of the operators: what runs at load, or copies rows.
ETHOSU_SMALL := $(addprefix runtime/kernels/,registry.c element/compare.c \
	$(patsubst %,shared/%.c,kernel plan_reader quantization) \
	$(patsubst %,shape/%.c,copy depth_to_space detection_postprocess flexbuffer gather join pad slice transpose))
ETHOSU_FAST_SRC := $(filter-out $(ETHOSU_SMALL),$(filter $(ETHOSU_FAST),$(ETHOSU_SRC)))

# $(call ETHOSU_OBJ,SOURCES). Flags of a target come behind those of the port, and win. USER_C_MODULES may
# be the folder above this one or, from a manifest's c_module(), this one itself.
ETHOSU_OBJ = $(patsubst %.c,$(BUILD)/$(notdir $(ETHOSU_DIR))/%.o,$(1))
$(call ETHOSU_OBJ,$(ETHOSU_FAST_SRC)): CFLAGS += -O2
$(call ETHOSU_OBJ,$(filter-out $(ETHOSU_FAST_SRC),$(ETHOSU_SRC))): CFLAGS += -Os

# The weak functions, without those of driver/board/defaults. A port that links a static library with its own must
# link these after it: the driver's README.
ETHOSU_DEFAULTS := $(addprefix driver/,board/arm_ethos_io_memcpy.c board/ethosu_hooks.c board/ethosu_hooks_sync.c job/ethosu_irq.c)

# The reference rounds after each float operation.
CFLAGS_USERMOD += -ffp-contract=off
# These flags are the whole port's: its own headers come before ours with the same name.
CFLAGS_USERMOD += -I$(ETHOSU_DIR) \
	$(foreach folder,driver/include runtime/include audio image,-idirafter $(ETHOSU_DIR)/$(folder))

# binding/memory/buffers.c and binding/npu/rom_guard.c replace these functions. A port links by the
# compiler, or by `ld` itself: its makefiles tell.
ETHOSU_COMMA := ,
ETHOSU_LD := $(and $(filter %ld,$(LD)),$(shell grep -lsE '^	.*[$$][(]LD[)].*[$$][(]LDFLAGS[)]' $(MAKEFILE_LIST)))
ETHOSU_WRAP ?= $(if $(ETHOSU_LD),,-Wl$(ETHOSU_COMMA))--wrap=
LDFLAGS_USERMOD += $(addprefix $(ETHOSU_WRAP),gc_free gc_realloc mp_vfs_rom_ioctl)

# The NPUs stop when MicroPython ends, which a soft reset begins with. A port that has
# MICROPY_PORT_DEINIT_FUNC calls ethosu_deinit_all() in it: ETHOSU_DEINIT=no.
ETHOSU_DEINIT ?= yes
ifneq ($(ETHOSU_DEINIT),no)
CFLAGS_USERMOD += '-DMICROPY_PORT_DEINIT_FUNC={extern void ethosu_deinit_all(void);ethosu_deinit_all();}'
endif

# A build with other flags, or without a file of before, compiles the module again, and collects its
# names, modules and root pointers again, which MicroPython keeps for each file.
include $(ETHOSU_DIR)/listed.mk
ifneq ($(BUILD),)
ETHOSU_CHOSEN := $(call listed,$(BUILD)/ethosu.choice,$(CFLAGS_USERMOD) $(ETHOSU_SRC),$(addprefix $(BUILD)/genhdr/,qstr module root_pointer compress))
$(call ETHOSU_OBJ,$(ETHOSU_SRC)): $(ETHOSU_CHOSEN)
QSTR_GLOBAL_DEPENDENCIES += $(ETHOSU_CHOSEN)
endif
