# SPDX-License-Identifier: MIT
"""Modules frozen into the firmware."""

include("$(MPY_DIR)/extmod/asyncio")  # noqa: F821  (the manifest's own function)
freeze("$(PORT_DIR)/modules")  # noqa: F821
include("../modules/ethosu/manifest.py")  # noqa: F821
include("../modules/ml/manifest.py")  # noqa: F821
