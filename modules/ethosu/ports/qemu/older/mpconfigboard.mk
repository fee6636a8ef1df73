# SPDX-License-Identifier: MIT
# The board MPS3_AN547 for releases of MicroPython whose qemu port lacks it.

QEMU_ARCH = arm
QEMU_MACHINE = mps3-an547

CFLAGS += -mthumb -mcpu=cortex-m55 -mfloat-abi=hard -mfpu=fpv5-d16
CFLAGS += -DMICROPY_HW_MCU_NAME='"Cortex-M55"'
LDSCRIPT = $(abspath $(BOARD_DIR))/older/mps3.ld
SRC_BOARD_O = shared/runtime/gchelper_generic.o
SRC_C += $(abspath $(BOARD_DIR))/older/machine.c
MPY_CROSS_FLAGS += -march=armv7emdp

# The port's handler of the tick prints registers and stops.
$(BUILD)/mcu/arm/errorhandler.o: CFLAGS += -DSysTick_Handler=no_tick
