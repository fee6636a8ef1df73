# SPDX-License-Identifier: MIT
"""The simulator library, and the NPUs that it supports."""

from pathlib import Path

import pytest
from ethosu_tools.vela import NPUS

from host_tests.kit import sharing
from host_tests.modules.ethosu.runtime.conftest import case_of, wake_words  # noqa: F401  # fixtures

CONFIGS = tuple(npu for npu in NPUS if "u85" not in npu)
U85_CONFIGS = tuple(npu for npu in NPUS if "u85" in npu)


@pytest.fixture(scope="session", autouse=True)
def npu_library(repo: Path) -> Path:
    """Build the simulator, alone and with driver and runtime."""
    sharing.make("tools/npu_sim", "shared")
    sharing.make("tools/sim_host")
    return repo / "build/npu_sim/libnpu_sim.so"
