# SPDX-License-Identifier: MIT
"""Programs, and the runtime's fixtures for them."""

from host_tests.modules.ethosu.executorch.fixtures import raw, shared_programs
from host_tests.modules.ethosu.runtime.conftest import damage
from host_tests.modules.ethosu.runtime.test_work import counted

__all__ = ["counted", "damage", "raw", "shared_programs"]
