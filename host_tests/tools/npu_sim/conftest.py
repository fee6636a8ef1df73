# SPDX-License-Identifier: MIT
"""The simulator library."""

from pathlib import Path

import pytest

from host_tests.kit import sharing


@pytest.fixture(scope="session", autouse=True)
def npu_library(repo: Path) -> Path:
    """Build the simulator, alone and with driver and runtime."""
    sharing.make("tools/npu_sim", "shared")
    sharing.make("tools/sim_host")
    return repo / "build/npu_sim/libnpu_sim.so"
