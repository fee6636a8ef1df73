# SPDX-License-Identifier: MIT
# MPY_CROSS, the compiler of the MicroPython in MICROPYTHON. All boards have the same one, and two
# of them may be built at the same time: the second waits, and then finds it up to date.
$(MPY_CROSS):
	@mkdir -p $(@D)
	@flock $(@D) $(MAKE) --no-print-directory -C $(MICROPYTHON)/mpy-cross BUILD=$(@D) PROG=mpy-cross \
	    USER_C_MODULES= CROSS_COMPILE=
