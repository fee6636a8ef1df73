# SPDX-License-Identifier: MIT
"""Modules frozen into the firmware; like asyncio without line numbers (opt=3), for size."""

include("$(MPY_DIR)/extmod/asyncio")  # noqa: F821  (the manifest's own function)
freeze("$(PORT_DIR)/modules", opt=3)  # noqa: F821
include("../modules/ethosu/manifest.py")  # noqa: F821
include("../modules/ml/manifest.py")  # noqa: F821
