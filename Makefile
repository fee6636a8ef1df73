# SPDX-License-Identifier: MIT
# The few commands of this project; `make help` lists them.

BOARD ?= MPS3_AN547
# Which Python makes .venv (CPython 3.11 or 3.12); empty: the first right one that is found.
PYTHON ?=
# DEBIAN=no leaves the installation of Debian packages to you.
DEBIAN ?= yes
# V=1 shows each command of the builds.
V ?=
# More arguments for pytest: make test TESTS="host_tests/modules/ethosu/driver -x"
TESTS ?=

# What hangs for ten minutes ends the run, and says where.
HANGS := -o faulthandler_timeout=600 -o faulthandler_exit_on_timeout=true

BUILD := build
STAMPS := $(BUILD)/stamps
VENV := .venv
BIN := $(VENV)/bin

DEBIAN_PACKAGES := \
    ca-certificates \
    clang \
    espeak-ng \
    gcc \
    gcc-arm-none-eabi \
    git \
    libc6-dev \
    libclang-rt-dev \
    libnewlib-arm-none-eabi \
    make \
    python3-venv \
    qemu-system-arm \
    sox \
    xz-utils

SUBMAKE = +$(MAKE) --no-print-directory $(if $(V),,--silent)

# Steps announce themselves on one line; what they run prints below it.
say = @printf '\033[1m==> %s\033[0m\n' "$(1)"
# $(call or_say,SENTENCE): ends a recipe line, so that a failure says how to mend it.
or_say = || { echo "error: $(1)" >&2; exit 1; }

.DEFAULT_GOAL := help
.PHONY: help native kernel-sizes litert-newest setup build sim sim-host plugin firmware demo test test-all nightly fuzz coverage lint format clean distclean lock

help: ## List these targets
	@echo "MicroPython for Cortex-M boards with an Arm Ethos-U NPU"
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile
	@echo
	@echo "Start with \`make demo\`. All that is made lies in $(BUILD)/ and $(VENV)/."

# --- Set-up ------------------------------------------------------------------

setup: $(BIN)/ethosu ## Install what is missing: Debian packages, Python environment

$(STAMPS)/debian: Makefile tools/setup/debian.sh
	$(call say,Debian packages)
ifeq ($(DEBIAN),yes)
	@tools/setup/debian.sh $(DEBIAN_PACKAGES)
endif
	@mkdir -p $(@D) && touch $@

$(BIN)/ethosu: requirements.lock pyproject.toml tools/setup/venv.sh | $(STAMPS)/debian
	$(call say,Python environment in $(VENV))
	@tools/setup/venv.sh $(VENV) $(PYTHON)
	@touch $@

# --- Parts -------------------------------------------------------------------

build: sim-host plugin firmware ## Build all: simulator, QEMU plugin, firmware

# First, since the two below would build it at the same time.
sim: $(STAMPS)/debian ## Build the simulator of the NPU
	$(call say,simulator)
	@$(SUBMAKE) -C tools/npu_sim all shared \
	    $(call or_say,the simulator did not build; the compiler's lines above say where.)

sim-host: sim ## Build driver and runtime with the simulator for this machine
	$(call say,simulator with driver and runtime)
	@$(SUBMAKE) -C tools/sim_host \
	    $(call or_say,driver and runtime did not build with the simulator; the compiler's lines above say where.)

plugin: sim ## Build the NPU plugin for QEMU
	$(call say,QEMU plugin)
	@$(SUBMAKE) -C tools/qemu_plugin \
	    $(call or_say,the QEMU plugin did not build; the compiler's lines above say where.)

firmware: setup ## Build the firmware for BOARD (default MPS3_AN547)
	$(call say,firmware for $(BOARD))
	@$(SUBMAKE) -C firmware BOARD=$(BOARD) \
	    $(call or_say,the firmware for $(BOARD) did not build; the lines above say where.)

# The second opinion of host_tests/generator; its fixture asks for it.
litert-newest: $(BUILD)/litert_newest/ready

$(BUILD)/litert_newest/ready: tools/setup/litert_newest.lock | setup
	$(call say,newest LiteRT)
	@$(BIN)/python -m venv --clear $(@D)
	@$(@D)/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r $< \
	    $(call or_say,the newest LiteRT could not be installed; mend the network and try again.)
	@touch $@

native: setup ## Build the module as a native .mpy, for firmware that lacks it
	$(call say,native module)
	@$(SUBMAKE) -C modules/ethosu/natmod \
	    $(call or_say,the native module did not build; the lines above say where.)

kernel-sizes: setup ## Print how many bytes each CPU kernel adds to a firmware
	@modules/ethosu/runtime/kernels/sizes.sh $(BUILD)/kernel_sizes

# --- Use ---------------------------------------------------------------------

demo: setup build ## Speak a wake word to an emulated board
	$(call say,demo)
	@$(BIN)/ethosu demo wakeword

test: setup build ## Run the tests, but for the larger sweeps
	$(call say,tests)
	@$(BIN)/pytest -m "not slow" $(HANGS) $(TESTS)

test-all: setup build ## Run all tests, larger sweeps too
	$(call say,all tests)
	@$(BIN)/pytest $(TESTS)

nightly: setup ## Check generated graphs on the NPU simulator for SECONDS (default 3600)
	$(call say,generated graphs)
	@+$(MAKE) --no-print-directory -s -C tools/npu_sim shared
	@+$(MAKE) --no-print-directory -s -C tools/sim_host
	@cd host_tests && ../$(BIN)/python -m generator --seconds $(or $(SECONDS),3600)

fuzz: setup ## Fuzz the NPU simulator for RUNS of each target (default 10^7)
	$(call say,fuzzing)
	@+$(MAKE) --no-print-directory -C tools/npu_sim/fuzz campaign

coverage: setup ## Print which lines of the NPU simulator the tests reach
	$(call say,line coverage of the NPU simulator)
	@+$(MAKE) --no-print-directory -C tools/npu_sim -f coverage.mk

lint: setup ## Check the style of Python and C sources
	$(call say,lint)
	@$(BIN)/ruff check . $(call or_say,ruff found faults; make format mends the simple ones.)
	@$(BIN)/ruff format --check . $(call or_say,Python sources are not in form; run: make format)
	@$(BIN)/mypy $(call or_say,mypy found faults in the types of tools/ethosu_tools.)
	@git ls-files '*.c' '*.h' | xargs $(BIN)/clang-format --dry-run --Werror \
	    $(call or_say,C sources are not in form; run: make format)

format: setup ## Bring Python and C sources into form
	$(call say,format)
	@$(BIN)/ruff check --fix --quiet . ; $(BIN)/ruff format .
	@git ls-files '*.c' '*.h' | xargs $(BIN)/clang-format -i

lock: setup ## Renew requirements.lock from pyproject.toml
	$(call say,requirements.lock)
	@tools/setup/lock.sh

clean: ## Remove what was built; keep .venv and the source of MicroPython
	@if [ -d $(BUILD) ]; then \
	    find $(BUILD) -mindepth 1 -maxdepth 1 ! -name micropython -exec rm -rf {} +; fi

distclean: ## Remove all that make made
	@rm -rf $(BUILD) $(VENV) tools/*.egg-info
