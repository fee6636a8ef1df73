# SPDX-License-Identifier: MIT
#
# How to build for WebAssembly, with Debian's emscripten; included by firmware/Makefile.
#
# Output: ethosu.wasm, and the same for wasmtime, wasmtime.wasm

ifeq ($(shell command -v emcc),)
$(error emcc is missing: apt-get install emscripten)
endif

# Where npm's packages are; `make web` installs them.
NODE_MODULES ?= $(ROOT)/build/web_parts/node_modules
WASM_OPT = $(NODE_MODULES)/binaryen/bin/wasm-opt

# Debian's emcc looks for its JavaScript libraries where only Debian's own node does.
export NODE_PATH = /usr/share/nodejs
CORE_SRC =
# No SD card: what a visitor does not need is not sent.
MICROPY_VFS_FAT = 0
CORE_OUTPUT = $(OUT)/ethosu.wasm $(OUT)/wasmtime.wasm

# An exception of Python unwinds as one of WebAssembly: without a call into JavaScript.
WASM_FLAGS = -msimd128 -s SUPPORT_LONGJMP=wasm
# What emcc runs to compile: emcc is a Python program, which takes half a second per file. It would add
# -fno-inline-functions to -Os, with which the page is larger.
LLVM := $(shell em-config LLVM_ROOT)
CC := $(firstword $(wildcard $(LLVM)/clang-$(shell em-config LLVM_ADD_VERSION)) $(LLVM)/clang)
WASM_CFLAGS := $(shell emcc --cflags $(WASM_FLAGS))
ifeq ($(and $(LLVM),$(WASM_CFLAGS)),)
$(error emcc does not say how it compiles: `em-config LLVM_ROOT` or `emcc --cflags` printed nothing)
endif
# Clang warns where GCC does not: a float becomes a double as an argument.
CORE_CFLAGS = $(WASM_CFLAGS) '-DCORE_HEADER="core_web.h"' -Wno-double-promotion -I$(ROOT)/tools/npu_sim \
	-I$(ROOT)/tools/sim_host -DETHOSU_IO_HEADER='<sim_host_io.h>'

SIM_SRC = $(filter-out tools/npu_sim/fuzz/%,$(patsubst $(ROOT)/%,%,$(wildcard $(ROOT)/tools/npu_sim/*/*.c)))
CORE_LIB_SRC = $(SIM_SRC) tools/sim_host/npu.c
CORE_OBJ = $(OUT)/memory.o

WASM_FEATURES = $(addprefix --enable-,simd exception-handling bulk-memory sign-ext mutable-globals \
	nontrapping-float-to-int)
WASM_OPT_FLAGS = $(WASM_FEATURES) --spill-pointers -O2 --strip-debug --strip-producers

LDFLAGS = $(WASM_FLAGS) -O2 --profiling-funcs -s STANDALONE_WASM -s INITIAL_MEMORY=134217728 --no-entry \
	-s ERROR_ON_UNDEFINED_SYMBOLS=0 -s WARN_ON_UNDEFINED_SYMBOLS=0 \
	$(foreach area,_gc_heap _romfs _ramdisk,-Wl,--export=$(area)_start -Wl,--export=$(area)_end)

.SECONDEXPANSION:
$(OUT)/linked.wasm: $$(OBJ) $$(CORE_OBJ) $$(OBJ_LIST)
# emcc does not pass on -Map.
	$(ECHO) "LINK $@"
	$(Q)emcc $(LDFLAGS) -Wl,--print-map -o $@ $(OBJ) $(CORE_OBJ) $(LDFLAGS_USERMOD) -lm >$(OUT)/firmware.map

# The collector finds no pointer in a local variable of WebAssembly: each goes to the stack.
$(OUT)/ethosu.wasm: $(OUT)/linked.wasm $(WASM_OPT)
	$(ECHO) "WASM-OPT $@"
	$(Q)$(WASM_OPT) $(WASM_OPT_FLAGS) $< -o $@

# wasmtime knows the exceptions of the standard only, and older browsers only those that LLVM writes.
$(OUT)/wasmtime.wasm: $(OUT)/ethosu.wasm
	$(ECHO) "WASM-OPT $@"
	$(Q)$(WASM_OPT) $(WASM_FEATURES) --enable-reference-types --translate-to-exnref $< -o $@
	$(Q)cp $(OUT)/firmware.map $(@:.wasm=.map)

$(OUT)/memory.o: $(BOARD_DIR)/memory.S $(BOARD_CORE)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(WASM_CFLAGS) -MD -MF $(@:.o=.P) -c -o $@ $<
