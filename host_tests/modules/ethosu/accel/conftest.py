# SPDX-License-Identifier: MIT
"""Fixtures: the simulated device, and models of all kinds."""

from collections.abc import Iterator

import pytest

from host_tests.kit import sharing
from host_tests.modules.ethosu.accel.kernel import Kernel

# Fixtures with these names.
from host_tests.modules.ethosu.runtime.conftest import vela
from host_tests.modules.ethosu.runtime.executorch.conftest import raw, shared_programs
from host_tests.modules.ethosu.runtime.kernels.conftest import compile_mixed

__all__ = ["compile_mixed", "raw", "shared_programs", "vela"]


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Iterator[Kernel]:
    """The device, with an Ethos-U65-256; a test must close everything it opens."""
    sharing.make("tools/sim_accel")
    kernel = Kernel(sharing.BUILD / "sim_accel/libethosu_accel.so")
    kernel.set_up("ethos-u65-256")
    monkeypatch.setenv("ETHOSU_ACCEL_LIBRARY", str(kernel.path))
    yield kernel
    kernel.hold(False)
    assert (kernel.open_files, kernel.buffers) == (0, 0)
