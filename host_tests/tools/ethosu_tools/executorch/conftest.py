# SPDX-License-Identifier: MIT
"""Vela's raw output, for programs made by the tests."""

from host_tests.modules.ethosu.runtime.conftest import vela  # noqa: F401
from host_tests.modules.ethosu.runtime.executorch.conftest import raw  # noqa: F401
