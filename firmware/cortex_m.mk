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

CORE_SRC = arithmetic.c collect.c fault.c memset.c mpu.c startup.c systick.c
# The same result, which is exact, in half the code of the C library's.
CORE_SHARED_SRC = lib/libm_dbl/fmod.c
CORE_OUTPUT = $(OUT)/firmware.size $(if $(filter yes,$(BOARD_BIN)),$(OUT)/firmware.bin)

CPU_FLAGS = $(BOARD_CPU_FLAGS) -mthumb
CORE_CFLAGS = $(CPU_FLAGS) -isystem $(MICROPYTHON)/lib/cmsis/inc -fpermitted-flt-eval-methods=c11 \
	--specs=nano.specs

LDFLAGS += $(CPU_FLAGS) --specs=nano.specs -nostartfiles -L$(ROOT)/firmware -T$(BOARD_MEMORY) \
	-Wl,--gc-sections -Wl,-Map=$(OUT)/firmware.map -Wl,--fatal-warnings

# With -O2 the compiler aligns each string to a word. Nothing reads these strings by words: none is
# copied with a constant size, for which the compiler could use LDRD or LDM.
PACK_STRINGS = $(OBJCOPY) --set-section-alignment '.rodata*.str1.4=1'

.SECONDEXPANSION:
$(OUT)/firmware.elf: $$(OBJ) $(BOARD_MEMORY) sections.ld
	$(ECHO) "LINK $@"
	$(Q)$(CC) $(LDFLAGS) -o $@ $(OBJ) -lm

# For tools that flash: the bytes from the address on at which VECTORS begins. board.toml says `bin`
# if VECTORS and CODE are in one memory; else this would be mostly the gap between them.
$(OUT)/firmware.bin: $(OUT)/firmware.elf
	$(Q)$(OBJCOPY) -O binary $< $@

$(OUT)/firmware.size: $(OUT)/firmware.elf
	$(Q)$(SIZE) $< | tee $@

