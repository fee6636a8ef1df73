# SPDX-License-Identifier: MIT
"""QEMU with the plugin, its links, its log, and firmware that runs to its end."""
