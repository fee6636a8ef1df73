# SPDX-License-Identifier: MIT
"""A board: its port or QEMU, its files, its flash, and models that run there."""
