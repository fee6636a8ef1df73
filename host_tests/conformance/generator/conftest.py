# SPDX-License-Identifier: MIT
"""`pytest -k one_seed --seed N` reruns one case (kit/options.py)."""

from host_tests.tools.npu_sim.conftest import npu_library  # noqa: F401  # the fixture
