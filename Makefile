# SPDX-License-Identifier: MIT
# The commands of this project; `make help` lists them.

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

# `make test-AREA` tests one area. AREA : prerequisites to build : folders of host_tests. For a path in
# TESTS, `make test` builds the prerequisites of the area with the longest folder that has the path.
AREAS := \
    accel:sim:modules/ethosu/accel \
    binding:board-images+plugin:modules/ethosu/binding \
    boards:board-images+plugin:boards \
    campaigns:sim-variants+sim-host-variants+board-images+plugin:campaigns \
    driver:sim-host-variants:modules/ethosu/driver \
    exactness:sim-host-variants+accel+board-images+plugin:exactness \
    firmware:board-images+plugin:firmware \
    generator:sim-variants+sim-host:generator \
    kernels:sim-host-variants+firmware+plugin:modules/ethosu/runtime/kernels \
    kit:firmware:kit+mutation \
    lab:parts+board-images:lab \
    natmod:board-images+plugin:modules/ethosu/natmod \
    plugin:plugin+firmware+sim-host-variants:tools/qemu_plugin \
    runtime:sim-host-variants+firmware+plugin:modules/ethosu/runtime \
    sim:sim-variants+sim-host-variants:tools/npu_sim+tools/sim_host \
    tools:parts+accel+board-images+examples:tools/ethosu_tools+tools/setup \
    pages:parts+accel+board-images+examples:pages \
    tree:setup:tree \

# `make campaign-X` tries hostile inputs and faults, `make nightly` runs them all.
# X : prerequisites to build : RUNS per night. A campaign builds its own variants for 32 or 64 bits
# and with sanitizers.
CAMPAIGNS := \
    streams:sim:10000000 \
    models:sim:5000000 \
    models32:sim:15000000 \
    kernels:sim:20000000 \
    kernels32:sim:20000000 \
    programs:sim:10000000 \
    programs32:sim:10000000 \
    delegates:sim:10000000 \
    delegates32:sim:10000000 \
    payloads:sim:20000000 \
    payloads32:sim:20000000 \
    files:sim:1000000 \
    faults:board-images+plugin:10000 \
    faults-by-host-time:board-images+plugin:10000 \
    soak:firmware+plugin:1000000 \
    serial:firmware+plugin:1000

BUILD := build
WEB_IMAGE := $(BUILD)/firmware/WEB/ethosu.wasm
STAMPS := $(BUILD)/stamps
VENV := .venv
BIN := $(VENV)/bin

DEBIAN_PACKAGES := \
    ca-certificates \
    clang \
    cmake \
    device-tree-compiler \
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
    xz-utils \
    $(if $(filter x86_64,$(shell uname -m)),g++-multilib)

# command:package, for the page; a node that is not from Debian includes npm.
WEB_PACKAGES := emcc:emscripten node:nodejs npm:npm esbuild:esbuild chromium:chromium

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

# A test that hangs for half an hour is killed with a traceback. This is only a safety net: tests
# that wait for a board have a time-out that measures the board's progress.
HANGS := -o faulthandler_timeout=1800 -o faulthandler_exit_on_timeout=true
# An idle worker takes over tests from another one. There are two more workers than processors,
# because many tests wait for a board that is idle itself.
PYTEST = $(BIN)/pytest -n $(shell expr $(JOBS) + 2) --dist worksteal --cpu $(HANGS)
QUICK := -m "not slow and not page"

# $(call field,NUMBER,ROW) of a table.
field = $(subst +, ,$(word $(1),$(subst :, ,$(2))))
# All boards, as NAME:flash+qemu, the default one first.
ifndef BOARD_ROWS
# In a new system there is no Python before the packages are installed.
export BOARD_ROWS := $(shell ! command -v python3 >/dev/null || python3 firmware/board.py list)
endif
BOARD_DEFAULT := $(call field,1,$(firstword $(BOARD_ROWS)))
boards_with = $(foreach row,$(BOARD_ROWS),$(if $(findstring $(1),$(call field,2,$(row))),$(call field,1,$(row))))
BOARDS := $(foreach row,$(BOARD_ROWS),$(call field,1,$(row)))
EMULATED := $(call boards_with,qemu)
AREA_NAMES := $(foreach row,$(AREAS),$(call field,1,$(row)))
CAMPAIGN_NAMES := $(foreach row,$(CAMPAIGNS),$(call field,1,$(row)))

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
.PHONY: help examples web page serve wheel wheel-aarch64 native kernel-sizes setup build parts sim library-binding sim-host accel plugin firmware \
    sim-variants sim-host-variants fuzzers firmware-variants board-images release \
    check docs demo test test-all test-web sweeps test-linux tutorial nightly newest fresh nightly-fresh mutations graphs fuzz coverage lint format clean distclean lock $(AREA_NAMES:%=test-%) \
    boards-table $(EMULATED:%=suite-%) \
    $(CAMPAIGN_NAMES:%=campaign-%)

help: ## List these targets
	@echo "MicroPython for Cortex-M boards with an Arm Ethos-U NPU"
	@awk -F ':.*## ' '/^# --- / { gsub(/^# --- | -+$$/, ""); group = $$0 } \
	    /^[a-z0-9-]+:.*## / { if (group) { printf "\n%s\n", group; group = "" } \
	        printf "  make %-13s %s\n", $$1, $$2 }' Makefile
	@echo
	@echo "Test a part"
	@echo "  make test-AREA     Test one area: $(AREA_NAMES)"
	@echo "  make suite-BOARD   Run all tests that need a board on this emulated one: $(EMULATED)"
	@echo "  make campaign-X    Try RUNS hostile inputs or faults, starting at SEED: $(CAMPAIGN_NAMES)"
	@echo
	@echo "Start with \`make demo\`. All output goes to $(BUILD)/ and $(VENV)/."

# --- Set-up ------------------------------------------------------------------

setup: $(BIN)/ethosu ## Install missing Debian packages and the Python environment

$(STAMPS)/debian: Makefile tools/setup/debian.sh
	$(call say,Debian packages)
ifeq ($(DEBIAN),yes)
	@tools/setup/debian.sh $(DEBIAN_PACKAGES)
endif
	@mkdir -p $(@D) && touch $@

$(STAMPS)/debian-web: Makefile tools/setup/debian.sh
	$(call say,Debian packages for the page)
ifeq ($(DEBIAN),yes)
	@missing=; for row in $(WEB_PACKAGES); do \
	    command -v $${row%:*} >/dev/null || missing="$$missing $${row#*:}"; \
	done; [ -z "$$missing" ] || tools/setup/debian.sh $$missing
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
LIBRARY_HEADERS := $(wildcard modules/ethosu/driver/include/*.h modules/ethosu/driver/*.h \
    modules/ethosu/runtime/*.h modules/ethosu/runtime/describe/*.h modules/ethosu/audio/*.h \
    modules/ethosu/accel/*.h tools/npu_sim/*.h tools/sim_accel/sim_accel.h tools/sim_host/*.h)

include modules/ethosu/listed.mk
.SECONDEXPANSION:
library-binding: $(LIBRARY_BINDING)

$(LIBRARY_BINDING): tools/setup/library_binding.py $(LIBRARY_HEADERS) $$(call listed,$(BUILD)/library/headers.list,$(LIBRARY_HEADERS)) | setup
	@$(BIN)/python $< $@

sim-host: sim $(LIBRARY_BINDING) ## Build driver and runtime with the simulator for this machine
	$(call say,simulator with driver and runtime)
	@$(call counted,driver and runtime) -C tools/sim_host \
	    $(call or_say,building driver and runtime with the simulator failed; see the compiler output above.)

accel: $(STAMPS)/debian $(LIBRARY_BINDING) ## Build driver and runtime for NPUs under Linux (run it on that board)
	$(call say,driver and runtime for /dev/accel)
	@$(call counted,driver and runtime) -C modules/ethosu/accel \
	    $(call or_say,building driver and runtime failed; see the compiler output above.)

plugin: sim ## Build the NPU plugin for QEMU
	$(call say,QEMU plugin)
	@$(call counted,QEMU plugin) -C tools/qemu_plugin \
	    $(call or_say,building the QEMU plugin failed; see the compiler output above.)

firmware: setup ## Build the firmware of BOARD (default: an emulated MPS3)
	$(call say,firmware for $(BOARD))
	@$(call counted,firmware for $(BOARD)) -C firmware BOARD=$(BOARD) \
	    $(call or_say,building the firmware for $(BOARD) failed; see the output above.)

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

native: setup ## Build the module as a native .mpy, for firmware that lacks it
	$(call say,native module)
	@$(call counted,native module) -C modules/ethosu/natmod \
	    $(call or_say,building the native module failed; see the output above.)

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

web: setup $(STAMPS)/debian-web ## Build the web page with a board and Vela in build/web; 8 minutes of CPU time
	$(call say,page)
	@$(call counted,page) -C tools/web \
	    $(call or_say,building the page failed; see the output above.)

# For tests: Vela as WebAssembly takes longer than the rest, so only `make web` builds it.
page: setup $(STAMPS)/debian-web
	$(call say,page without Vela)
	@$(call counted,page) -C tools/web page \
	    $(call or_say,building the page failed; see the output above.)

serve: ## Serve the page of `make web` at http://localhost:PORT (default 8000)
	@[ -e $(BUILD)/web/index.html ] $(call or_say,the page is not built yet; run: make web)
	@$(BIN)/python -m http.server --bind 127.0.0.1 --directory $(BUILD)/web $(or $(PORT),8000)

wheel: build accel board-images examples ## Build the self-contained wheel of the tools in build/wheel
	$(call say,wheel)
	@$(BIN)/python tools/setup/wheel.py $(BUILD)/wheel

# With Debian's gcc-aarch64-linux-gnu, on any machine.
CROSS := aarch64-linux-gnu-
OF_AARCH64 = CC=$(CROSS)gcc AR=$(CROSS)ar BUILD=$(abspath $(BUILD)/aarch64)

wheel-aarch64: setup board-images examples ## Build the same wheel for aarch64; needs gcc-aarch64-linux-gnu
	@command -v $(CROSS)gcc >/dev/null \
	    $(call or_say,$(CROSS)gcc not found; run: apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross)
	$(call say,wheel for aarch64)
	@$(SUBMAKE) -C tools/sim_host $(OF_AARCH64)/sim_host SIM=$(abspath $(BUILD)/aarch64/npu_sim)
	@$(SUBMAKE) -C tools/qemu_plugin $(OF_AARCH64)/qemu_plugin SIM_BUILD=$(abspath $(BUILD)/aarch64/npu_sim)
	@$(SUBMAKE) -C modules/ethosu/accel $(OF_AARCH64)/accel
	@$(BIN)/python tools/setup/wheel.py $(BUILD)/wheel aarch64

# Images of all boards, the wheel of the tools, a report of the tests, checksums.
release: wheel ## Build images of all boards, wheel and checksums in build/release
	$(call say,tests of each board)
	@rm -rf $(BUILD)/release && mkdir -p $(BUILD)/release $(BUILD)/wheel
	@$(BIN)/pytest -q --junitxml=$(BUILD)/wheel/tests.xml host_tests/boards/test_every_board.py \
	    $(call or_say,a board failed its tests, so no release was built.)
	$(call say,release)
	@cp $(BUILD)/wheel/*.whl $(BUILD)/release
	@$(BIN)/python tools/setup/release.py $(BUILD)/wheel/tests.xml $(BUILD)/release

# --- Use ---------------------------------------------------------------------

# If the page is built, its board is included, and blocks of Python get a "Run" button.
docs: setup ## Build the docs in build/docs; after `make web` the examples can be run in the page
	$(call say,docs)
	@rm -rf $(BUILD)/book $(BUILD)/docs
	@$(BIN)/python tools/setup/book.py $(BUILD)/book
	@BOOK_LIVE=$(if $(wildcard $(WEB_IMAGE)),true,false) \
	    $(BIN)/mkdocs build --quiet --strict --config-file docs/book.yml
	@[ ! -e $(WEB_IMAGE) ] || PYTHONPATH=. $(BIN)/python tools/web/install_live.py $(WEB_IMAGE) $(BUILD)/docs/live
	@echo "$(BUILD)/docs/index.html"

demo: build ## Speak a wake word to an emulated board
	$(call say,demo)
	@$(BIN)/ethosu demo wakeword

# --- Test --------------------------------------------------------------------

TESTED := parts sim-variants sim-host-variants firmware-variants board-images accel examples \
    $(STAMPS)/collected
SWEPT := $(TESTED) fuzzers web

# Python compiles the tests for pytest: once, while a processor is idle, and not in each process of a run.
$(STAMPS)/collected: | sim-host
	@$(BIN)/pytest --collect-only -qq >$@.log || { cat $@.log; exit 1; }
	@mv $@.log $@

# All folders of areas, as FOLDER:PREREQUISITES.
FOLDERS := $(foreach row,$(AREAS),$(foreach folder,$(call field,3,$(row)),host_tests/$(folder):$(word 2,$(subst :, ,$(row)))))
# $(call around,PATH) and $(call below,PATH): the rows whose folder has the path, and those in it.
around = $(strip $(foreach row,$(FOLDERS),$(if $(filter $(call field,1,$(row))/%,$(1)/),$(row))))
below = $(foreach row,$(FOLDERS),$(if $(filter $(1)/%,$(call field,1,$(row))),$(row)))
# $(call needs,PATH): what its tests need; outside of all areas, that is everything.
needs = $(if $(call around,$(1)),$(foreach row,$(lastword $(sort $(call around,$(1)))) $(call below,$(1)),$(call field,2,$(row))),$(TESTED))
# Paths in TESTS, without the names of tests behind them.
PATHS = $(foreach path,$(filter host_tests/%,$(patsubst ./%,%,$(TESTS))),$(patsubst %/,%,$(firstword $(subst ::, ,$(path)))))
NEEDED = $(sort setup $(or $(foreach path,$(PATHS),$(call needs,$(path))),$(TESTED)))

test: $(STAMPS)/debian ## Run all tests except the larger sweeps and those of the web page
	@$(SUBMAKE) $(NEEDED)
	$(call say,tests)
	@$(PYTEST) $(QUICK) $(TESTS)

# One run of pytest: a second one would collect all tests again. Style is checked during the builds,
# which leave a processor idle at times.
check: $(STAMPS)/debian ## Build, check style, run all tests except the larger sweeps
	@$(SUBMAKE) $(TESTED) page lint
	$(call say,tests)
	@$(PYTEST) -m "not slow" $(TESTS)

test-web: build page ## Run the tests of the web page, in a browser
	$(call say,tests of the page)
	@$(PYTEST) -m "page and not slow" $(TESTS)

sweeps: $(STAMPS)/debian ## Run the larger sweeps, which `make test` omits
	@$(SUBMAKE) $(SWEPT)
	$(call say,larger sweeps)
	@$(PYTEST) -m slow $(TESTS)

test-all: $(STAMPS)/debian ## Run all tests, including the larger sweeps
	@$(SUBMAKE) $(SWEPT)
	$(call say,all tests)
	@$(PYTEST) $(TESTS)

define area_rule
test-$(call field,1,$(1)): setup
	@$$(SUBMAKE) $(call field,2,$(1))
	@$$(PYTEST) $$(QUICK) $(addprefix host_tests/,$(call field,3,$(1))) $$(TESTS)
endef
$(foreach row,$(AREAS),$(eval $(call area_rule,$(row))))

# All tests that need a board, on each QEMU, and as its chip, without the emulator's registers; the
# results go to $(BUILD)/suites.
HOW_installed := --qemu installed
HOW_10 := --qemu 10
HOW_11 := --qemu 11
HOW_as-chip := --as-chip
define suite_rule
suite-$(1): setup
	@$$(SUBMAKE) board-images plugin
	$$(call say,all tests of a board on $(1))
	@$$(foreach how,installed 10 11 as-chip,\
	    $$(BIN)/pytest -q $$(HANGS) --board $(1) $$(HOW_$$(how)) -m on_board $$(TESTS) \
	        --junitxml=$$(BUILD)/suites/$(1)-$$(how).xml || failed=yes;) [ -z "$$$$failed" ]
endef
$(foreach board,$(EMULATED),$(eval $(call suite_rule,$(board))))

boards-table: setup ## Print test results, cost of DMA, image size and line count for each board
	@PYTHONPATH=. $(BIN)/python tools/setup/boards_table.py $(BUILD)/suites

test-linux: plugin ## Boot Debian's kernel, whose own driver runs models on the emulated NPU
	$(call say,Linux)
	@$(PYTEST) host_tests/linux $(TESTS)

# One seed for all: with the same SEED, each resumes where it was stopped. A finding does not stop
# the others. All is built first, because these goals run at the same time and would build it each.
nightly: setup ## Run sweeps, graphs, fuzz, Linux, all campaigns and all board tests: 1.3*10^8 inputs
	$(call say,seed $(NIGHT); to resume: make nightly SEED=$(NIGHT))
	-@$(SUBMAKE) --keep-going $(SWEPT)
	@+$(MAKE) --no-print-directory --silent --keep-going $(PARALLEL) SEED=$(NIGHT) \
	    sweeps test-linux tutorial graphs fuzz nightly-fresh newest HEAVY=$(or $(HEAVY),yes) $(CAMPAIGN_NAMES:%=campaign-%) $(EMULATED:%=suite-%) \
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
	@$(BIN)/python -m host_tests.mutation run $(BUILD)/mutations.jsonl \
	    $(patsubst %,--tree $(BUILD)/mutations/%,$(shell seq $(JOBS))) --count $(or $(COUNT),300)

tutorial: build accel examples ## Run the tutorial with TensorFlow and the tests with ExecuTorch; installs 4.4 GB
	$(call say,TensorFlow and ExecuTorch)
	@for kit in convert executorch; do $(BIN)/ethosu doctor --install $$kit || exit; done
	@$(PYTEST) -m slow -k "tutorial or tensorflow or onnx2tf or exporter or pytorch" \
	    host_tests/tools/setup host_tests/tools/ethosu_tools host_tests/pages

NIGHT := $(or $(SEED),$(shell date +%Y%m%d))

newest: build ## Try the newest release of each dependency, with HEAVY=yes PyTorch too; a break fails nothing
	$(call say,newest releases)
	@PYTHONPATH=. $(BIN)/python tools/setup/newest.py $(if $(filter-out no,$(HEAVY)),--heavy) $(if $(JSON),--json)

graphs: setup ## Check generated graphs on the NPU simulator for SECONDS (default 3600)
	$(call say,generated graphs)
	@+$(MAKE) --no-print-directory -s -C tools/npu_sim shared
	@+$(MAKE) --no-print-directory -s -C tools/sim_host
	@$(BIN)/python -m host_tests.generator --seconds $(or $(SECONDS),3600)

fuzz: setup ## Fuzz the NPU simulator for RUNS of each target (default 10^7)
	$(call say,fuzzing)
	@+$(MAKE) --no-print-directory -C tools/npu_sim/fuzz campaign

define campaign_rule
campaign-$(call field,1,$(1)): setup
	@$$(SUBMAKE) $(call field,2,$(1))
	@nice -n 19 $$(BIN)/python -m host_tests.campaigns $(call field,1,$(1)) \
	    --runs $$(or $$(RUNS),$(call field,3,$(1))) \
	    $$(if $$(SEED),--seed $$(SEED)) $$(if $$(FIRST),--first $$(FIRST)) $$(if $$(JSON),--json)
endef
$(foreach row,$(CAMPAIGNS),$(eval $(call campaign_rule,$(row))))

coverage: setup ## Print the line coverage of the NPU simulator
	$(call say,line coverage of the NPU simulator)
	@+$(MAKE) --no-print-directory -C tools/npu_sim -f coverage.mk

# --- Maintain ----------------------------------------------------------------

lint: setup ## Check the style of Python and C sources
	$(call say,lint)
	@$(BIN)/ruff check . $(call or_say,ruff found problems; make format fixes the simple ones.)
	@$(BIN)/ruff format --check . $(call or_say,Python sources are not formatted; run: make format)
	@$(BIN)/mypy $(call or_say,mypy found type errors in tools/ethosu_tools.)
	@PYTHONPATH=tools $(BIN)/lint-imports >$(STAMPS)/imports.log \
	    || { cat $(STAMPS)/imports.log; false; } \
	    $(call or_say,a module of the tools imports from a higher room; pyproject.toml lists them.)
	@git ls-files '*.c' '*.h' | xargs $(BIN)/clang-format --dry-run --Werror \
	    $(call or_say,C sources are not formatted; run: make format)

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
