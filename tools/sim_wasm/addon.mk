# SPDX-License-Identifier: MIT
# Goals of the add-on for other systems: included by the Makefile of the root.

SWEPT += sim-wasm
WHEELS += any:wheel-any
DOWNLOADS += $(STAMPS)/debian-wasm

.PHONY: sim-wasm wheel-any
$(STAMPS)/debian-wasm: tools/sim_wasm/addon.mk tools/setup/debian.sh
	$(call say,Debian packages for WebAssembly)
ifeq ($(DEBIAN),yes)
	@command -v emcc >/dev/null || tools/setup/debian.sh emscripten
endif
	@mkdir -p $(@D) && touch $@

sim-wasm: setup $(STAMPS)/debian-wasm ## Build driver, runtime and simulator as WebAssembly
	$(call say,simulator as WebAssembly)
	@$(call counted,simulator as WebAssembly) -C tools/sim_wasm \
	    $(call or_say,building the simulator as WebAssembly failed; see the output above.)

wheel-any: sim-wasm board-images examples $$(IN_ANY) ## Build the wheel of the tools for macOS and Windows in build/wheel
	$(call say,wheel for any system)
	@$(BIN)/python tools/setup/release/wheel.py $(BUILD)/wheel any
