# SPDX-License-Identifier: MIT
# Tests and long runs: included by the Makefile of the root, after the add-ons' addon.mk.

# What is built for the tests of a folder of host_tests, FOLDER:PREREQUISITES; `make test-NAME` tests
# it, by the folder's last name. For a path in TESTS, `make test` builds what the longest folder that
# has the path needs.
NEEDS += \
    boards:board-images+plugin \
    conformance/campaigns:sim-variants+sim-host-variants+board-images+plugin \
    exactness:sim-host-variants+board-images+plugin$(LIBRARIES:%=+%) \
    firmware:board-images+plugin \
    conformance/generator:sim-variants+sim-host \
    kit:firmware \
    lab:parts+board-images \
    tools/action:parts+board-images+examples$(LIBRARIES:%=+%) \
    modules/ethosu/binding:board-images+plugin \
    modules/ethosu/driver:sim-host-variants \
    modules/ethosu/runtime:sim-host-variants+firmware+plugin \
    modules/ethosu/runtime/kernels:sim-host-variants+firmware+plugin \
    conformance/mutation:firmware \
    pages:parts+board-images+examples$(LIBRARIES:%=+%) \
    tools/ethosu_tools:parts+board-images+examples$(LIBRARIES:%=+%) \
    tools/npu_sim:sim-variants+sim-host-variants \
    tools/qemu_plugin:plugin+firmware+sim-host-variants \
    tools/setup:parts+board-images+examples$(LIBRARIES:%=+%) \
    tools/sim_host:sim-variants+sim-host-variants \
    tree:setup
AREA_NAMES := $(sort $(foreach row,$(NEEDS),$(notdir $(call field,1,$(row)))))

# Add-ons add to these: what tests need, what `make check` tests in addition to `make test`, what only
# the larger sweeps need, and goals of the night.
TESTED := parts sim-variants sim-host-variants firmware-variants board-images $(LIBRARIES) examples $(STAMPS)/collected
SWEPT := $(TESTED) fuzzers $(SWEPT)
NIGHTLY := sweeps tutorial graphs fuzz nightly-fresh newest $(NIGHTLY) $(EMULATED:%=suite-%)
NIGHT := $(or $(SEED),$(shell date +%Y%m%d))

# A test that hangs for half an hour is killed with a traceback. This is only a safety net: tests
# that wait for a board have a time-out that measures the board's progress.
HANGS := -o faulthandler_timeout=1800 -o faulthandler_exit_on_timeout=true
# An idle worker takes over tests from another one. There are two more workers than processors,
# because many tests wait for a board that is idle itself.
PYTEST = $(BIN)/pytest -n $(shell expr $(JOBS) + 2) --dist worksteal --cpu $(HANGS)
QUICK := -m "not slow and not page"

# $(call around,PATH) and $(call below,PATH): the rows whose folder has the path, and those in it.
FOLDERS := $(NEEDS:%=host_tests/%)
around = $(strip $(foreach row,$(FOLDERS),$(if $(filter $(call field,1,$(row))/%,$(1)/),$(row))))
below = $(foreach row,$(FOLDERS),$(if $(filter $(1)/%,$(call field,1,$(row))),$(row)))
# $(call needs,PATH): what its tests need; outside of all areas, that is everything.
needs = $(if $(call around,$(1)),$(foreach row,$(lastword $(sort $(call around,$(1)))) $(call below,$(1)),$(call field,2,$(row))),$(TESTED))
# Paths in TESTS, without the names of tests behind them.
PATHS = $(foreach path,$(filter host_tests/%,$(patsubst ./%,%,$(TESTS))),$(patsubst %/,%,$(firstword $(subst ::, ,$(path)))))
NEEDED = $(sort setup $(or $(foreach path,$(PATHS),$(call needs,$(path))),$(TESTED)))

.PHONY: sim-variants sim-host-variants fuzzers firmware-variants coverage check test test-all sweeps tutorial nightly newest fresh nightly-fresh mutations graphs fuzz \
    boards-table $(AREA_NAMES:%=test-%) $(EMULATED:%=suite-%)

# Only for tests: the simulator with sanitizers and with fewer fast paths, driver and runtime with
# sanitizers, fuzzers, firmware without the emulator.
sim-variants: sim
	@$(SUBMAKE) -C tools/npu_sim sanitize avx2 portable plain

sim-host-variants: sim-host
	@$(call counted,driver) -C tools/sim_host driver
	@$(call counted,with ASan) -C tools/sim_host SANITIZE=address all archives
	@$(call counted,with ASan for 32 bits) -C tools/sim_host SANITIZE=address32 objects
	@$(call counted,with TSan) -C tools/sim_host SANITIZE=thread all archives

fuzzers: sim-host
	@$(SUBMAKE) -C tools/npu_sim/fuzz
	@$(call counted,for libFuzzer) -C tools/sim_host SANITIZE=fuzz objects

# After the firmware, because they share its objects.
firmware-variants: firmware
	@$(call counted,firmware without the emulator) -C firmware BOARD_EMULATOR=no
	@$(call counted,firmware for TEMPLATE) -C firmware BOARD=TEMPLATE BOARD_DIR=template BOARD_EMULATOR=no

# --- Test --------------------------------------------------------------------

# Python compiles the tests for pytest: once, while a processor is idle, and not in each process of a run.
$(STAMPS)/collected: | sim-host
	@$(BIN)/pytest --collect-only -qq >$@.log || { cat $@.log; exit 1; }
	@mv $@.log $@

test: $(STAMPS)/debian ## Run all tests except the larger sweeps and those of the web page
	@$(SUBMAKE) $(NEEDED)
	$(call say,tests)
	@$(PYTEST) $(QUICK) $(TESTS)

# One run of pytest: a second one would collect all tests again. Style is checked during the builds,
# which leave a processor idle at times.
check: $(STAMPS)/debian ## Build, check style, run all tests except the larger sweeps
	@$(SUBMAKE) $(TESTED) $(CHECKED) lint
	$(call say,tests)
	@$(PYTEST) $(TESTS)

sweeps: $(STAMPS)/debian ## Run the larger sweeps, which `make test` omits
	@$(SUBMAKE) $(SWEPT)
	$(call say,larger sweeps)
	@$(PYTEST) -m slow $(TESTS)

test-all: $(STAMPS)/debian ## Run all tests, including the larger sweeps
	@$(SUBMAKE) $(SWEPT)
	$(call say,all tests)
	@$(PYTEST) -m "" $(TESTS)

$(AREA_NAMES:%=test-%): test-%: setup
	@$(SUBMAKE) $(sort $(foreach row,$(filter %/$*,$(foreach row,$(FOLDERS),$(call field,1,$(row)))),$(call needs,$(row))))
	@$(PYTEST) $(QUICK) $(filter %/$*,$(foreach row,$(FOLDERS),$(call field,1,$(row)))) $(TESTS)

# All tests that need a board, on each QEMU, and as its chip, without the emulator's registers; the
# results go to $(BUILD)/suites.
$(EMULATED:%=suite-%): suite-%: setup
	@$(SUBMAKE) board-images plugin
	$(call say,all tests of a board on $*)
	@for how in "--qemu installed" "--qemu 10" "--qemu 11" --as-chip; do \
	    $(BIN)/pytest -q $(HANGS) --board $* $$how -m on_board $(TESTS) \
	        --junitxml=$(BUILD)/suites/$*-$$(echo $$how | sed 's/.* \|--//').xml || failed=yes; done; [ -z "$$failed" ]

boards-table: setup ## Print test results, cost of DMA, image size and line count for each board
	@PYTHONPATH=. $(BIN)/python tools/setup/boards_table.py $(BUILD)/suites

# One seed for all: with the same SEED, each resumes where it was stopped. A finding does not stop
# the others. All is built first, because these goals run at the same time and would build it each.
nightly: setup ## Run sweeps, graphs, fuzz, all campaigns and all board tests: 1.3*10^8 inputs
	$(call say,seed $(NIGHT); to resume: make nightly SEED=$(NIGHT))
	-@$(SUBMAKE) --keep-going $(SWEPT)
	@+campaigns=$$($(BIN)/python -m host_tests.conformance campaigns | sed 's/ .*//; s/^/campaign-/') && \
	    $(MAKE) --no-print-directory --silent --keep-going $(PARALLEL) SEED=$(NIGHT) \
	    $(NIGHTLY) HEAVY=$(or $(HEAVY),yes) $$campaigns \
	    $(call or_say,there are findings; the lines above explain how to reproduce them.)

# `fresh` of the releases that have to work, and of the next one. 77: this machine has no means to.
nightly-fresh:
	@for release in bookworm trixie sid; do tools/setup/fresh.sh $$release || [ $$? = 77 ] || failed=yes; done; \
	    [ -z "$$failed" ]

# WHO: root, a user with sudo, or both.
fresh: ## Run README's two commands in a new root of RELEASE (such as trixie), as WHO (root, user)
	@tools/setup/fresh.sh "$(RELEASE)" $(WHO)

# In clones, because sources are changed; build output is copied, so that a mutant compiles only its own file.
mutations: setup ## Seed COUNT faults (default 300) into clones of the tree, and check which the tests find
	@$(SUBMAKE) $(TESTED)
	@$(BIN)/pip install --quiet universalmutator==1.14.1
	@for n in $(shell seq $(JOBS)); do tools/setup/clone.sh $(BUILD)/mutations/$$n || exit; done
	@$(BIN)/python -m host_tests.conformance mutation run $(BUILD)/mutations.jsonl \
	    $(patsubst %,--tree $(BUILD)/mutations/%,$(shell seq $(JOBS))) --count $(or $(COUNT),300)

# Tests that need a kit of `ethosu doctor`; add-ons add kits and tests.
tutorial: build $(LIBRARIES) examples ## Run the tutorial with TensorFlow and the tests of other kits; installs 4.4 GB
	$(call say,kits: convert $(KITS))
	@for kit in convert $(KITS); do $(BIN)/ethosu doctor --install $$kit || exit; done
	@$(PYTEST) -m slow -k "tutorial or tensorflow or onnx2tf$(KIT_TESTS:%= or %)" \
	    host_tests/tools/setup host_tests/tools/ethosu_tools host_tests/pages

newest: build ## Try the newest release of each dependency, with HEAVY=yes PyTorch too; a break fails nothing
	$(call say,newest releases)
	@PYTHONPATH=. $(BIN)/python tools/setup/newest.py $(if $(filter-out no,$(HEAVY)),--heavy) $(if $(JSON),--json)

graphs: setup ## Check generated graphs on the NPU simulator for SECONDS (default 3600)
	$(call say,generated graphs)
	@+$(MAKE) --no-print-directory -s -C tools/npu_sim shared
	@+$(MAKE) --no-print-directory -s -C tools/sim_host
	@$(BIN)/python -m host_tests.conformance generator --seconds $(or $(SECONDS),3600)

fuzz: setup ## Fuzz the NPU simulator for RUNS of each target (default 10^7)
	$(call say,fuzzing)
	@+$(MAKE) --no-print-directory -C tools/npu_sim/fuzz campaign

coverage: setup ## Print the line coverage of the NPU simulator
	$(call say,line coverage of the NPU simulator)
	@+$(MAKE) --no-print-directory -C tools/npu_sim -f coverage.mk

# Hostile inputs and faults; a campaign builds its own variants for 32 or 64 bits and with sanitizers.
campaign-%: setup
	@needs=$$($(BIN)/python -m host_tests.conformance $* --needs) && $(QUIET_MAKE) $$needs
	@nice -n 19 $(BIN)/python -m host_tests.conformance $* $(if $(RUNS),--runs $(RUNS)) \
	    $(if $(SEED),--seed $(SEED)) $(if $(FIRST),--first $(FIRST)) $(if $(JSON),--json)
