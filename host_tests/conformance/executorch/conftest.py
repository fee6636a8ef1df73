# SPDX-License-Identifier: MIT
"""Programs."""

from host_tests.modules.ethosu.executorch.fixtures import raw, shared_programs

__all__ = ["raw", "shared_programs"]
