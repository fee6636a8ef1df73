# SPDX-License-Identifier: MIT
"""Add-ons, which the other packages find but never name: see base/addons.py."""
