# SPDX-License-Identifier: MIT
"""Fixtures: Debian's kernel and the client, or a sentence that says what is missing."""

import pytest

from host_tests.kit.debian import PackageMissingError
from host_tests.linux import kernel, machine

# Fixtures of these names.
from host_tests.modules.ethosu.runtime.conftest import vela
from host_tests.modules.ethosu.runtime.executorch.conftest import raw
from host_tests.modules.ethosu.runtime.kernels.conftest import compile_mixed

__all__ = ["compile_mixed", "raw", "vela"]


@pytest.fixture(scope="session")
def linux() -> machine.Linux:
    """All that is needed to boot."""
    try:
        return machine.Linux(kernel.get(), machine.build_client())
    except PackageMissingError as error:
        pytest.skip(f"NOT TESTED WITH LINUX: {error}")
