# SPDX-License-Identifier: MIT
"""Fixtures of the built-in module, with which the native one is compared."""

from modules.ethosu.binding.conftest import example, face  # noqa: F401  # fixtures
