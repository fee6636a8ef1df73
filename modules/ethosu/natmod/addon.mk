# SPDX-License-Identifier: MIT
# Goals of the native module: included by the Makefile of the root.

RELEASED += native:native-release:$(BUILD)/natmod/release
NEEDS += modules/ethosu/natmod:board-images+plugin

# Of the default release of MicroPython.
NATIVE_BUILT = $(BUILD)/natmod/$(shell sed -n 's/^default = "\(.*\)"/\1/p' firmware/micropython.toml)

.PHONY: native native-release
native: setup ## Build the module as a native .mpy, for firmware that lacks it
	$(call say,native module)
	@$(call counted,native module) -C modules/ethosu/natmod \
	    $(call or_say,building the native module failed; see the output above.)

# One file for all releases that the module is for: tests run it in each.
native-release: native
	@rm -rf $(BUILD)/natmod/release && mkdir -p $(BUILD)/natmod/release
	@cp -t $(BUILD)/natmod/release $(NATIVE_BUILT)/package.json $(NATIVE_BUILT)/ethosu.mpy $(NATIVE_BUILT)/_ethosu_metadata.py.mpy
	@cp modules/ethosu/natmod/README.md $(BUILD)/natmod/release/README.md
	@$(BIN)/python tools/setup/release/notices.py $(BUILD)/natmod/release/ethosu.mpy $(NATIVE_BUILT)/whole.map
