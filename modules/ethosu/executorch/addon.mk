# SPDX-License-Identifier: MIT
# Lists of the add-on ExecuTorch: included by the Makefile of the root.

NEEDS += conformance/executorch:sim-host
NEEDS += modules/ethosu/executorch:sim-host-variants+board-images+plugin
KITS += executorch
KIT_TESTS += exporter pytorch
