# SPDX-License-Identifier: MIT
"""Tests that need the emulated board: DMA, fault injection, a second NPU, exact counts."""
