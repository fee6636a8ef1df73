# SPDX-License-Identifier: MIT
"""The example of the binding's tests."""

from modules.ethosu.binding.conftest import example  # noqa: F401  # the fixture
