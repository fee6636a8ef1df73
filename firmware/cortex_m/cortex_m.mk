# SPDX-License-Identifier: MIT
#
# How to build for a Cortex-M; included by the Makefile.
#
# Output: firmware.elf, .bin, .map and .size

CROSS_COMPILE ?= arm-none-eabi-
ifeq ($(shell command -v $(CROSS_COMPILE)gcc),)
$(error $(CROSS_COMPILE)gcc is missing: apt-get install gcc-arm-none-eabi libnewlib-arm-none-eabi)
endif

BOARD_MEMORY ?= $(BOARD_MADE)/memory.ld

CORE_SRC = $(addprefix cortex_m/, arithmetic.c collect.c fault.c memset.c mpu.c startup.c systick.c)
# MicroPython's own functions instead of the C library's, whose wrappers set errno, and whose results
# differ between releases. exp(), log() and pow() are the C library's, which are more exact.
CORE_SHARED_SRC = $(addprefix lib/libm_dbl/, __cos.c __expo2.c __rem_pio2.c __rem_pio2_large.c __sin.c \
	__tan.c acos.c acosh.c asin.c asinh.c atan.c atan2.c atanh.c cos.c cosh.c erf.c expm1.c fmod.c \
	frexp.c ldexp.c lgamma.c log10.c log1p.c modf.c scalbn.c sin.c sinh.c tan.c tanh.c tgamma.c)
CORE_OUTPUT = $(OUT)/firmware.size $(if $(filter yes,$(BOARD_BIN)),$(OUT)/firmware.bin)

CPU_FLAGS = $(BOARD_CPU_FLAGS) -mthumb
CORE_CFLAGS = $(CPU_FLAGS) -isystem $(CMSIS) -fpermitted-flt-eval-methods=c11 \
	--specs=nano.specs

# nmagic: there are no pages, which segments.py checks. Binutils 2.44 aligns segments to 64 KB, so that
# the file's headers would share a page with a section of RAM, and be loaded with it.
LDFLAGS += $(CPU_FLAGS) --specs=nano.specs -nostartfiles -L$(ROOT)/firmware/cortex_m -T$(BOARD_MEMORY) \
	-Wl,--nmagic -Wl,--gc-sections -Wl,-Map=$(@:.elf=.map) -Wl,--fatal-warnings

# With -O2 the compiler aligns each string to a word. Nothing reads these strings by words: none is
# copied with a constant size, for which the compiler could use LDRD or LDM.
PACK_STRINGS = $(OBJCOPY) --set-section-alignment '.rodata*.str1.4=1'

# A function of a board's file or of LIBS, static libraries, replaces the driver's weak one, which is
# linked last: modules/ethosu/driver/README.md.
LIBS ?=
HOOKS = $(ROOT)/modules/ethosu/driver/hooks.ld
DEFAULTS = $(OUT)/modules/ethosu/driver/defaults.a
DEFAULTS_OBJ = $(filter $(addprefix %/ethosu/,$(ETHOSU_DEFAULTS:.c=.o)),$(OBJ))

.SECONDEXPANSION:
# LINK_TOO: an object and options of a test, which links the same objects to an image of its own.
$(OUT)/firmware.elf $(LINKED_TOO): $$(OBJ) $$(OBJ_LIST) $(BOARD_MEMORY) cortex_m/sections.ld make/segments.py $(HOOKS) $(LIBS)
	$(ECHO) "LINK $@"
	$(Q)mkdir -p $(dir $(DEFAULTS)) && $(RM) -f $(DEFAULTS) && $(AR) rcsD $(DEFAULTS) $(DEFAULTS_OBJ)
	$(Q)$(CC) $(LDFLAGS) -o $@.new $(HOOKS) $(filter-out $(DEFAULTS_OBJ),$(OBJ)) $(LINK_TOO) $(LIBS) $(DEFAULTS) -lm
	$(Q)python3 make/segments.py $@.new $(@:.elf=.map) && mv $@.new $@

# For tools that flash: the bytes from the address on at which VECTORS begins. board.toml says `bin`
# if VECTORS and CODE are in one memory; else this would be mostly the gap between them.
$(OUT)/firmware.bin: $(OUT)/firmware.elf
	$(Q)$(OBJCOPY) -O binary $< $@.new && mv $@.new $@

$(OUT)/firmware.size: $(OUT)/firmware.elf
	$(Q)$(SIZE) $< | tee $@

