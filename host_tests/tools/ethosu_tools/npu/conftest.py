# SPDX-License-Identifier: MIT
"""The simulator and the compiled models of its tests."""

from tools.npu_sim.conftest import npu_library, vela  # noqa: F401  # the fixtures
