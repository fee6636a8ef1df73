# SPDX-License-Identifier: MIT
"""Modules frozen into the unix port: asyncio, and the module's parts in Python."""

include("$(MPY_DIR)/extmod/asyncio")  # noqa: F821  (the manifest's own function)
include("../../manifest.py")  # noqa: F821
