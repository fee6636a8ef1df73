# SPDX-License-Identifier: MIT
"""The runtime's fixtures, for programs."""

from host_tests.modules.ethosu.runtime.conftest import damage  # noqa: F401
from host_tests.modules.ethosu.runtime.test_work import counted  # noqa: F401
