# SPDX-License-Identifier: MIT
"""Programs."""

from host_tests.modules.ethosu.runtime.executorch.fixtures import raw, shared_programs

__all__ = ["raw", "shared_programs"]
