# SPDX-License-Identifier: MIT
# The commands of this project; `make help` lists them. Those of tests are in host_tests/tests.mk, those of
# add-ons in their addon.mk.

BOARD ?= $(BOARD_DEFAULT)
# Python for .venv (CPython 3.11 to 3.13); if empty, the first suitable one that is found.
PYTHON ?=
# DEBIAN=no does not install Debian packages.
DEBIAN ?= yes
# V=1 prints the commands of the builds.
V ?=
# Number of processors for builds and tests.
JOBS ?= $(shell nproc)
# More arguments for pytest: make test TESTS="host_tests/modules/ethosu/driver -x"
TESTS ?=

BUILD := build
STAMPS := $(BUILD)/stamps
VENV := .venv
BIN := $(VENV)/bin

DEBIAN_PACKAGES := ca-certificates clang cmake espeak-ng gcc gcc-arm-none-eabi git libc6-dev libclang-rt-dev \
    libnewlib-arm-none-eabi make python3-venv qemu-system-arm sox xz-utils \
    $(if $(filter x86_64,$(shell uname -m)),g++-multilib)

# Headers of the library, for the tools' binding of it.
LIBRARY_HEADERS := $(wildcard modules/ethosu/driver/include/*.h modules/ethosu/driver/*/*.h \
    modules/ethosu/runtime/include/*.h modules/ethosu/audio/*.h tools/npu_sim/*.h tools/sim_host/*.h)

# Add-ons have goals of their own and add to lists: LIBRARY_HEADERS, DEBIAN_PACKAGES, ADD_TO_DOCS; LIBRARIES, goals
# whose output is in the wheel; LIBRARIES_AARCH64 and IN_ANY, the same for another machine and for any system; WHEELS of
# a release as MACHINE:GOAL; RELEASED, its archives as NAME:GOAL:FOLDER; DOWNLOADS, goals after which these need no
# network; and those of host_tests/tests.mk.
LIBRARIES :=
LIBRARIES_AARCH64 :=
IN_ANY :=
uname := $(shell uname -m)
WHEELS := $(uname):wheel $(if $(filter-out aarch64,$(uname)),aarch64:wheel-aarch64)
RELEASED :=
DOWNLOADS :=
NEEDS :=
CHECKED :=
SWEPT :=
NIGHTLY :=
KITS :=
KIT_TESTS :=
include modules/ethosu/listed.mk firmware/make/date.mk
# $$(NAME) in prerequisites is what all have added to it.
.SECONDEXPANSION:
include $(wildcard modules/*/addon.mk modules/ethosu/*/addon.mk tools/*/addon.mk tools/ethosu_tools/addons/*/addon.mk)

SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c

# Builds start Python a dozen times each. The one in .venv, once it is there, starts at once; on some
# machines `python3` is a script that first looks for the right one.
export PATH := $(abspath $(BIN)):$(PATH)

# Without -j, sub-makes use all processors.
PARALLEL = $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(JOBS))
QUIET_MAKE = $(MAKE) --no-print-directory $(PARALLEL) $(if $(V),,--silent)
SUBMAKE = +$(QUIET_MAKE)
# $(call counted,PART): replaces the output of a long build by a counter on one line.
counted = +$(if $(V),,tools/setup/progress.sh "$(1)") $(QUIET_MAKE)

# $(call field,NUMBER,ROW) of a table.
field = $(subst +, ,$(word $(1),$(subst :, ,$(2))))
# All boards, as NAME:flash+qemu, the default one first.
ifndef BOARD_ROWS
# In a new system there is no Python before the packages are installed.
export BOARD_ROWS := $(shell ! command -v python3 >/dev/null || python3 firmware/make/board.py list)
endif
BOARD_DEFAULT := $(call field,1,$(firstword $(BOARD_ROWS)))
boards_with = $(foreach row,$(BOARD_ROWS),$(if $(findstring $(1),$(call field,2,$(row))),$(call field,1,$(row))))
BOARDS := $(foreach row,$(BOARD_ROWS),$(call field,1,$(row)))
EMULATED := $(call boards_with,qemu)

# Each step prints a heading, bold on a terminal; output of its commands follows below.
say = @[ ! -t 1 ] || [ "$${NO_COLOR}$(filter dumb,$(TERM))" ] && printf '==> %s\n' "$(1)" || printf '\033[1m==> %s\033[0m\n' "$(1)"
# $(call or_say,TEXT): at the end of a recipe line, explains how to fix a failure.
or_say = || { echo "error: $(1)" >&2; exit 1; }

# A goal such as `build` starts a make of its own for its parts, which knows nothing of the goals
# next to it. So `make -j2 build plugin` builds one goal after the other, each one in parallel.
ifeq ($(MAKELEVEL),0)
.NOTPARALLEL:
endif

.DEFAULT_GOAL := help
.PHONY: help setup build parts sim library-binding sim-host plugin firmware kernel-sizes board-images examples wheel \
    wheel-aarch64 release release-setup docs demo lint format lock clean distclean

help: ## List these targets
	@echo "MicroPython for Cortex-M boards with an Arm Ethos-U NPU"
	@awk -F ':.*## ' 'FILENAME ~ /addon\.mk$$/ && !addons++ { group = "Add-ons" } \
	    /^# --- / { gsub(/^# --- | -+$$/, ""); group = $$0 } \
	    /^[a-z0-9-]+:.*## / { if (group) { printf "\n%s\n", group; group = "" } \
	        printf "  make %-13s %s\n", $$1, $$2 }' $(filter-out %/addon.mk,$(MAKEFILE_LIST)) $(filter %/addon.mk,$(MAKEFILE_LIST))
	@echo
	@echo "Test a part"
	@echo "  make test-AREA     Test one area: $(AREA_NAMES)"
	@echo "  make suite-BOARD   Run all tests that need a board on this emulated one: $(EMULATED)"
	@echo "  make campaign-X    Try RUNS hostile inputs or faults, starting at SEED; python -m host_tests.conformance campaigns lists them"
	@echo
	@echo "Start with \`make demo\`. All output goes to $(BUILD)/ and $(VENV)/."

# --- Set-up ------------------------------------------------------------------

setup: $(BIN)/ethosu ## Install missing Debian packages and the Python environment

$(STAMPS)/debian: Makefile $(filter %/addon.mk,$(MAKEFILE_LIST)) tools/setup/debian.sh
	$(call say,Debian packages)
ifeq ($(DEBIAN),yes)
	@tools/setup/debian.sh $(DEBIAN_PACKAGES)
endif
	@mkdir -p $(@D) && touch $@

$(BIN)/ethosu: requirements.lock pyproject.toml tools/setup/venv.sh | $(STAMPS)/debian
	$(call say,Python environment in $(VENV))
	@tools/setup/venv.sh $(VENV) $(PYTHON)
	@touch $@

# --- Build -------------------------------------------------------------------

# The simulator needs no Python environment, so it is built while that is installed.
build: $(STAMPS)/debian ## Build simulator, QEMU plugin and firmware
	@$(SUBMAKE) parts

parts: setup sim-host plugin firmware

# First, because the two below would otherwise build it at the same time.
sim: $(STAMPS)/debian ## Build the simulator of the NPU
	$(call say,simulator)
	@$(call counted,simulator) -C tools/npu_sim all shared \
	    $(call or_say,building the simulator failed; see the compiler output above.)

# The tools' binding of the library, generated from its headers.
LIBRARY_BINDING := $(BUILD)/library/ethosu_library.py

library-binding: $(LIBRARY_BINDING)

$(LIBRARY_BINDING): tools/setup/library_binding.py $(LIBRARY_HEADERS) $$(call listed,$(BUILD)/library/headers.list,$(LIBRARY_HEADERS)) | setup
	@$(BIN)/python $< $@

sim-host: sim $(LIBRARY_BINDING) ## Build driver and runtime with the simulator for this machine
	$(call say,simulator with driver and runtime)
	@$(call counted,driver and runtime) -C tools/sim_host \
	    $(call or_say,building driver and runtime with the simulator failed; see the compiler output above.)

plugin: sim ## Build the NPU plugin for QEMU
	$(call say,QEMU plugin)
	@$(call counted,QEMU plugin) -C tools/qemu_plugin \
	    $(call or_say,building the QEMU plugin failed; see the compiler output above.)

firmware: setup ## Build the firmware of BOARD (default: an emulated MPS3)
	$(call say,firmware for $(BOARD))
	@$(call counted,firmware for $(BOARD)) -C firmware BOARD=$(BOARD) \
	    $(call or_say,building the firmware for $(BOARD) failed; see the output above.)

kernel-sizes: setup ## Print the bytes that each CPU kernel adds to the firmware
	@modules/ethosu/runtime/kernels/sizes.sh $(BUILD)/kernel_sizes

# Images of all boards.
board-images: firmware
	@$(foreach board,$(filter-out $(BOARD),$(BOARDS)),$(MAKE) --no-print-directory firmware BOARD=$(board) &&) true

# The examples and their models, as a folder for /rom.
examples: $(STAMPS)/examples

# The others need models of other projects.
EXAMPLES := $(filter-out %/assistant.py %/person.py,$(wildcard modules/ethosu/examples/*.py))

$(STAMPS)/examples: $(EXAMPLES) $$(call listed,$(STAMPS)/examples.list,$(EXAMPLES)) tools/ethosu_tools/model/make_model.py tools/setup/discs.py | sim-host
	$(call say,examples)
	@rm -rf $(BUILD)/examples && mkdir -p $(BUILD)/examples
	@cp $(EXAMPLES) $(BUILD)/examples
	@$(BIN)/python tools/setup/discs.py $(BUILD)/examples
	@$(BIN)/python -m ethosu_tools.model.make_model $(BUILD)/examples/models
	@cd $(BUILD)/examples && for model in small_cnn small_streaming; do \
	    $(abspath $(BIN))/ethosu compile models/$$model.tflite -o $$model.tflite --quiet || exit 1; \
	done && $(abspath $(BIN))/ethosu compile models/small_cnn.tflite -o proven.tflite --selftest --quiet
	@rm -r $(BUILD)/examples/models && touch $@

wheel: build $(LIBRARIES) board-images examples ## Build the self-contained wheel of the tools in build/wheel
	$(call say,wheel)
	@$(BIN)/python tools/setup/release/wheel.py $(BUILD)/wheel

# With clang, on any machine: Debian's cross GCC would remove gcc-multilib, which tests need.
AARCH64 := aarch64-linux-gnu
OF_AARCH64 = CC="clang --target=$(AARCH64)" AR=$(AARCH64)-ar BUILD=$(abspath $(BUILD)/aarch64)
$(STAMPS)/debian-aarch64: Makefile tools/setup/debian.sh | $(STAMPS)/debian
	$(call say,Debian packages for aarch64)
ifeq ($(DEBIAN),yes)
	@tools/setup/debian.sh binutils-$(AARCH64) libc6-dev-arm64-cross libgcc-$$(gcc -dumpversion)-dev-arm64-cross
endif
	@touch $@

wheel-aarch64: $(STAMPS)/debian-aarch64 setup board-images examples ## Build the same wheel for aarch64
	$(call say,wheel for aarch64)
	@$(SUBMAKE) -C tools/sim_host $(OF_AARCH64)/sim_host SIM=$(abspath $(BUILD)/aarch64/npu_sim)
	@$(SUBMAKE) -C tools/qemu_plugin $(OF_AARCH64)/qemu_plugin SIM_BUILD=$(abspath $(BUILD)/aarch64/npu_sim)
	$(if $(LIBRARIES_AARCH64),@$(SUBMAKE) $(LIBRARIES_AARCH64))
	@$(BIN)/python tools/setup/release/wheel.py $(BUILD)/wheel aarch64

# An archive for each board, the wheels, all archives of RELEASED, what was tested, checksums.
RELEASED += c:setup:modules/ethosu docs:docs:$(BUILD)/docs
# What a release is made without, such as WITHOUT="web aarch64"; its page says so.
WITHOUT ?=
in_release = $(foreach row,$(1),$(if $(filter $(call field,1,$(row)),$(WITHOUT)),,$(row)))

# What checks the wheels. It is kept, so that the next release needs no network.
RELEASE_TOOLS := $(STAMPS)/release-tools
$(RELEASE_TOOLS): pyproject.toml | setup
	$(call say,tools that check wheels)
	@$(BIN)/python -m venv --clear $(BUILD)/release_tools
	@$(BUILD)/release_tools/bin/pip install --quiet --disable-pip-version-check \
	    $$($(BIN)/python -c 'from ethosu_tools.base import other_python as o; print(*o.pins("release"))')
	@touch $@

release-setup: setup $(STAMPS)/debian-aarch64 $(RELEASE_TOOLS) $(DOWNLOADS) ## Download all that `make release` needs, which then needs no network
	$(call say,source of MicroPython)
	@python3 firmware/make/fetch_micropython.py >/dev/null && python3 firmware/make/fetch_micropython.py --cmsis >/dev/null
	$(call say,each QEMU)
	@PYTHONPATH=. $(BIN)/python -m host_tests.tools.qemu_plugin.releases

release: $(foreach row,$(call in_release,$(WHEELS) $(RELEASED)),$(call field,2,$(row))) $(RELEASE_TOOLS) ## Build all that is released in build/release
	$(call say,tests of each board)
	@rm -rf $(BUILD)/release && mkdir -p $(BUILD)/release
	@CI=true $(BIN)/pytest -q -m "" --junitxml=$(BUILD)/wheel/tests.xml host_tests/boards/test_every_board.py \
	    $(call or_say,a board failed its tests, so no release was built.)
	$(call say,release)
	@cp $(foreach row,$(call in_release,$(WHEELS)),$(BUILD)/wheel/*[-_]$(call field,1,$(row)).whl) $(BUILD)/release
	@$(BUILD)/release_tools/bin/twine check --strict $(BUILD)/release/*.whl
	@shopt -s nullglob; for wheel in $(BUILD)/release/*linux*.whl; do \
	    $(BUILD)/release_tools/bin/auditwheel show $$wheel >$(BUILD)/wheel/audit.txt 2>&1 || { cat $(BUILD)/wheel/audit.txt; exit 1; }; \
	    sed -n '/is consistent/,/"\.$$/p' $(BUILD)/wheel/audit.txt | paste -sd' '; done
	@$(BIN)/python tools/setup/release/release.py $(BUILD)/wheel/tests.xml $(BUILD)/release without="$(WITHOUT)" \
	    $(foreach row,$(call in_release,$(RELEASED)),$(call field,1,$(row))=$(call field,3,$(row)))

# --- Use ---------------------------------------------------------------------

docs: setup ## Build the docs in build/docs
	$(call say,docs)
	@rm -rf $(BUILD)/book $(BUILD)/docs
	@$(BIN)/python tools/setup/book.py $(BUILD)/book
	@$(BIN)/mkdocs build --quiet --strict --config-file docs/book.yml
	@$(ADD_TO_DOCS)
	@echo "$(BUILD)/docs/index.html"

demo: build ## Speak a wake word to an emulated board
	$(call say,demo)
	@$(or $(DEMO),echo "its add-on is not here")

include host_tests/tests.mk

# --- Maintain ----------------------------------------------------------------

# What follows `if sys.platform != "linux": raise` is left out, and with it the types of what it sets.
OF_LINUX := --no-warn-unused-ignores --disable-error-code has-type --disable-error-code no-any-return

lint: setup ## Check the style of Python and C sources, and workflows
	$(call say,lint)
	@$(BIN)/ruff check . $(call or_say,ruff found problems; make format fixes the simple ones.)
	@$(BIN)/ruff format --check . $(call or_say,Python sources are not formatted; run: make format)
	@$(BIN)/mypy $(call or_say,mypy found type errors in tools/ethosu_tools.)
	@for system in win32 darwin; do $(BIN)/mypy --platform $$system --cache-dir $(BUILD)/mypy/$$system $(OF_LINUX) \
	    tools/ethosu_tools || exit 1; done $(call or_say,the tools use what this system lacks: ask sys.platform first.)
	@PYTHONPATH=tools $(BIN)/lint-imports >$(STAMPS)/imports.log \
	    || { cat $(STAMPS)/imports.log; false; } \
	    $(call or_say,a module of the tools imports from a higher room; pyproject.toml lists them.)
	@git ls-files '*.c' '*.h' | xargs $(BIN)/clang-format --dry-run --Werror \
	    $(call or_say,C sources are not formatted; run: make format)
	@tools/setup/workflows/actionlint.sh $(BUILD)/actionlint .github/workflows/*.yml \
	    host_tests/tools/action/project/.github/workflows/*.yml \
	    $(call or_say,actionlint found problems in a workflow.)

format: setup ## Format Python and C sources
	$(call say,format)
	@$(BIN)/ruff check --fix --quiet . ; $(BIN)/ruff format .
	@git ls-files '*.c' '*.h' | xargs $(BIN)/clang-format -i

lock: setup ## Update requirements.lock from pyproject.toml
	$(call say,requirements.lock)
	@tools/setup/lock.sh

clean: ## Remove build output; keep .venv and the source of MicroPython
	@if [ -d $(BUILD) ]; then \
	    find $(BUILD) -mindepth 1 -maxdepth 1 ! -name micropython -exec rm -rf {} +; fi

distclean: ## Remove everything that make created
	@rm -rf $(BUILD) $(VENV) tools/*.egg-info
