# SPDX-License-Identifier: MIT
"""OpenMV's modules for scripts that run on an emulated board."""

OFFERS = {
    "rom": {"openmv": "modules"},
    # The package `ml`, frozen into the firmware, and the modules that `--openmv` adds.
    "board package": {"ml": "modules/ml/ml"},
    "wheel files": {"openmv": "modules/openmv/*.py"},
}
