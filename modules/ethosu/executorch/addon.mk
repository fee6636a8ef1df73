# SPDX-License-Identifier: MIT
# Lists of the add-on ExecuTorch: included by the Makefile of the root.

NEEDS += executorch:sim-host
NEEDS += $(patsubst host_tests/%,%:sim-host-variants+board-images+plugin,$(wildcard host_tests/modules/ethosu/executorch))
KITS += executorch
KIT_TESTS += exporter pytorch
