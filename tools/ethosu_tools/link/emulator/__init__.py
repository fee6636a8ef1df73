# SPDX-License-Identifier: MIT
"""Runs QEMU with the plugin: links to QEMU, its log, and firmware that runs to its end."""
