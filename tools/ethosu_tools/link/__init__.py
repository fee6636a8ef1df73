# SPDX-License-Identifier: MIT
"""Access to a board: its port or QEMU, its files, its flash, and models that run on it."""
