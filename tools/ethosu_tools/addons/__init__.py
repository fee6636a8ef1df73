# SPDX-License-Identifier: MIT
"""Add-ons, which the rest of the tools finds and never names: see base/addons.py."""
