# SPDX-License-Identifier: MIT
# Goals of the add-on Linux: included by the Makefile of the root.

LIBRARIES += accel
LIBRARIES_AARCH64 += accel-aarch64
LIBRARY_HEADERS += $(wildcard modules/ethosu/accel/*.h) modules/ethosu/accel/binding.toml tools/sim_accel/sim_accel.h
DEBIAN_PACKAGES += device-tree-compiler
NEEDS += modules/ethosu/accel:sim
NIGHTLY += test-linux

.PHONY: accel accel-aarch64 test-linux
accel: $(STAMPS)/debian library-binding ## Build driver and runtime for NPUs under Linux (run it on that board)
	$(call say,driver and runtime for /dev/accel)
	@$(call counted,driver and runtime) -C modules/ethosu/accel \
	    $(call or_say,building driver and runtime failed; see the compiler output above.)

accel-aarch64:
	@$(SUBMAKE) -C modules/ethosu/accel $(OF_AARCH64)/accel

test-linux: plugin ## Boot Debian's kernel, whose own driver runs models on the emulated NPU
	$(call say,Linux)
	@$(PYTEST) host_tests/linux $(TESTS)
