# SPDX-License-Identifier: MIT
"""What only the emulated board shows: DMA, faults at will, a second NPU, counts."""
