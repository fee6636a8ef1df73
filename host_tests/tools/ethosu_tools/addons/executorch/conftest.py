# SPDX-License-Identifier: MIT
"""Programs."""

from host_tests.modules.ethosu.executorch.fixtures import raw, shared_programs
from host_tests.tools.ethosu_tools.answers.test_check import check

__all__ = ["check", "raw", "shared_programs"]
