# SPDX-License-Identifier: MIT
"""Modules frozen into the firmware, without line numbers (opt=3), as asyncio is, for size."""

from pathlib import Path

include("$(MPY_DIR)/extmod/asyncio")  # noqa: F821  (the manifest's own function)
freeze("$(PORT_DIR)/modules", opt=3)  # noqa: F821
for each in sorted(Path("../modules").glob("*/manifest.py")):  # of the module, then of add-ons
    include(str(each))  # noqa: F821
