# SPDX-License-Identifier: MIT
"""Campaigns on the emulated board: faults at random moments, and wear."""
