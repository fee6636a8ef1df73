# SPDX-License-Identifier: MIT
# Prints which lines of the functional model the tests reach:
#
#   make -C tools/npu_model -f coverage.mk            the tests, and COUNT (1000) generated graphs

ROOT := $(abspath $(dir $(lastword $(MAKEFILE_LIST)))/../..)
MODEL := $(ROOT)/tools/npu_model
BUILD := $(ROOT)/build/npu_model/coverage
PYTHON ?= $(ROOT)/.venv/bin/python
COUNT ?= 1000
export ETHOSU_NPU_LIBRARY := $(BUILD)/libnpu_model.so

.PHONY: coverage library
coverage: library
	rm -f $(BUILD)/*.gcda
	cd $(ROOT) && $(PYTHON) -m pytest -q -m "not slow" host_tests/npu_model
	cd $(ROOT)/host_tests && $(PYTHON) -m generator.lines run --count $(COUNT)
	cd $(ROOT)/host_tests && $(PYTHON) -m generator.lines report $(BUILD)

library:
	$(MAKE) -s -f $(MODEL)/Makefile BUILD=$(BUILD) CFLAGS="-O0 -g --coverage" shared
