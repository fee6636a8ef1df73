# SPDX-License-Identifier: MIT
"""Campaigns: hostile inputs without end, a short form of each in `make test`."""
