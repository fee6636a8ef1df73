# SPDX-License-Identifier: MIT
"""Campaigns: endless hostile inputs; `make test` runs a short form of each."""
