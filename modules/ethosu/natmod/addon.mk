# SPDX-License-Identifier: MIT
# Goals of the native module: included by the Makefile of the root.

NEEDS += modules/ethosu/natmod:board-images+plugin

.PHONY: native
native: setup ## Build the module as a native .mpy, for firmware that lacks it
	$(call say,native module)
	@$(call counted,native module) -C modules/ethosu/natmod \
	    $(call or_say,building the native module failed; see the output above.)
