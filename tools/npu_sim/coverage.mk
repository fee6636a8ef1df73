# SPDX-License-Identifier: MIT
# Prints which lines of the simulator the tests reach:
#
#   make -C tools/npu_sim -f coverage.mk            the tests, and COUNT (1000) generated graphs

ROOT := $(abspath $(dir $(lastword $(MAKEFILE_LIST)))/../..)
SIM := $(ROOT)/tools/npu_sim
BUILD := $(ROOT)/build/npu_sim/coverage
PYTHON ?= $(ROOT)/.venv/bin/python
COUNT ?= 1000
export ETHOSU_NPU_LIBRARY := $(BUILD)/libnpu_sim.so
export ETHOSU_SIM_LIBRARY := $(ROOT)/build/sim_host/coverage/libethosu_sim.so

.PHONY: coverage library
coverage: library
	rm -f $(BUILD)/*/*.gcda
	cd $(ROOT) && $(PYTHON) -m pytest -q host_tests/tools/npu_sim
	cd $(ROOT) && $(PYTHON) -m host_tests.conformance.generator --here --count $$(($(COUNT) / 2))
	cd $(ROOT) && $(PYTHON) -m host_tests.conformance.generator --here --count $$(($(COUNT) / 2)) --family u85
	cd $(BUILD) && gcov --source-prefix $(ROOT) --relative-only */*.gcda | \
	    grep -A1 "^File 'tools/npu_sim" | grep -v '^--'
	cd $(BUILD) && grep -H '#####' *.c.gcov || true

library:
	$(MAKE) -s -f $(SIM)/Makefile BUILD=$(BUILD) CFLAGS="-O0 -g --coverage" shared
	$(MAKE) -s -C $(ROOT)/tools/sim_host SANITIZE=coverage
