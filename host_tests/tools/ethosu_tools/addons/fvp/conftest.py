# SPDX-License-Identifier: MIT
"""The program for CORSTONE_320."""

from host_tests.tools.qemu_plugin.conftest import plugin
from host_tests.tools.qemu_plugin.test_corstone_320 import image

__all__ = ["image", "plugin"]
