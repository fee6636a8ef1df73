# SPDX-License-Identifier: MIT
# MPY_CROSS, the compiler of the MicroPython in MICROPYTHON_TREE. All boards have the same one, and two
# of them may be built at the same time: the second waits, and then finds it up to date. A source that
# is not a pinned release may have changed, so its own makefile is asked each time.
$(MPY_CROSS): $(if $(MICROPYTHON_PINNED),,FORCE)
	@mkdir -p $(@D)
	@flock $(@D) $(MAKE) --no-print-directory -C $(MICROPYTHON_TREE)/mpy-cross BUILD=$(@D) PROG=mpy-cross \
	    USER_C_MODULES= CROSS_COMPILE=
FORCE:
