# SPDX-License-Identifier: MIT
# A variant of MicroPython's unix port with module `ethosu` and a simulated NPU:
# docs/upstream_port.md. It needs `make sim-host`.

ETHOSU_ROOT := $(abspath $(VARIANT_DIR)/../../../..)
FROZEN_MANIFEST ?= $(VARIANT_DIR)/manifest.py

# The module is not made for threads without a lock around Python.
MICROPY_PY_THREAD = 0
# Their sources are git submodules, which Debian's source package of MicroPython lacks.
MICROPY_PY_BTREE = 0
MICROPY_PY_FFI = 0
MICROPY_PY_SSL = 0
# micropython-lib, too. Nothing is taken from it; the makefiles look for a README.md there.
MPY_LIB_DIR = $(ETHOSU_ROOT)

# The driver reaches the NPU's registers by functions of tools/sim_host.
CFLAGS += '-DETHOSU_IO_HEADER=<sim_host_io.h>'
CFLAGS += -I$(ETHOSU_ROOT)/tools/sim_host -I$(ETHOSU_ROOT)/tools/npu_sim
LDFLAGS += $(ETHOSU_ROOT)/build/sim_host/libsim_host.a $(ETHOSU_ROOT)/build/npu_sim/libnpu_sim.a -pthread
