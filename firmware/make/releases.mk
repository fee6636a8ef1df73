# SPDX-License-Identifier: MIT
#
# Which MicroPython, and what differs between its releases for make; releases.h has that for C.
#
#   MICROPYTHON=1.29.0      a release of micropython.toml (default: the one that is named there)
#   MICROPYTHON_DIR=FOLDER  a source at hand, in the place of the default
#
# Sets MICROPYTHON_TREE, its folder; MICROPYTHON_PINNED, the same if it is a release's and so never
# changes; MICROPYTHON_RELEASE; MPY_CROSS, its compiler, which is built outside the tree; CMSIS, the
# headers of Arm's cores.

ifneq ($(origin MICROPYTHON_VERSION),undefined)
$(error MICROPYTHON_VERSION is now MICROPYTHON)
endif
MICROPYTHON ?=
MICROPYTHON_DIR ?=
fetch = $(shell MICROPYTHON_DIR='$(MICROPYTHON_DIR)' python3 $(ROOT)/firmware/make/fetch_micropython.py $(1))

# The make that has the lock of firmware/Makefile gets it from the one that waited for it.
MICROPYTHON_TREE := $(or $(FIRMWARE_LOCKED),$(call fetch,$(MICROPYTHON)))
ifeq ($(MICROPYTHON_TREE),)
$(error MicroPython's source is missing, see above)
endif
MICROPYTHON_RELEASE := $(shell sed -n 's/^.define MICROPY_VERSION_M[A-Z]* *//p' \
	$(MICROPYTHON_TREE)/py/mpconfig.h | paste -sd.)
MICROPYTHON_PINNED := $(filter $(ROOT)/build/micropython/%,$(MICROPYTHON_TREE))
MPY_CROSS := $(ROOT)/build/mpy-cross/$(MICROPYTHON_RELEASE)$(if $(MICROPYTHON_PINNED),,-$(firstword $(shell echo $(MICROPYTHON_TREE) | md5sum)))/mpy-cross

# From 1.29 on, CMSIS is a submodule: the headers are those of the release that `cmsis` names.
CMSIS := $(or $(wildcard $(MICROPYTHON_TREE)/lib/cmsis/inc),$(call fetch,--cmsis))
ifeq ($(CMSIS),)
$(error The headers of CMSIS are missing, see above)
endif

# Of `shared/`: from 1.27 on, the soft timers call mp_irq_dispatch().
MICROPYTHON_SHARED := runtime/mpirq.c

# Released files are the same wherever they are built: they name sources as in the tree.
PLACELESS := -ffile-prefix-map=$(ROOT)/=
include $(dir $(lastword $(MAKEFILE_LIST)))date.mk
