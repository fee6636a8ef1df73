# SPDX-License-Identifier: MIT
"""The folder of locks."""

from host_tests.tools.ethosu_tools.base.test_locks import folder

__all__ = ["folder"]
